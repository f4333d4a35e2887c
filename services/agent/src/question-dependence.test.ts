import test from 'ava';
import { dependsOnConversation } from './question-dependence.ts';

for (const message of [
  'And how long does that take?',
  'Why?',
  'yes please',
  'What about lamps that arrived broken?',
  'Can I return it after thirty days without the receipt?',
  'Und wie lange?',
  'Who teaches the second one?',
  'and the other?',
  'what about B1?',
  'Could you send me the cheaper one by post?',
  'Is breakfast included there?',
  'Do both have a balcony with a view?',
  'Wer unterrichtet den zweiten?',
  'Und wie sieht es mit B1 aus?',
  'Kann man den auch am Wochenende besuchen?',
  'Wie teuer wäre dann die Lieferung nach Wien?',
  '¿Quién enseña el segundo?',
  '¿Y qué hay de B1?',
  '¿Puedo devolverlo en la tienda de Madrid?',
  '¿Esas también llevan garantía de dos años?',
  'Qui enseigne le deuxième ?',
  'Et celui du mardi soir, il coûte combien ?',
  '第二个是谁教的？',
  '那另一个呢？',
  '二つ目は誰が教えますか',
  '그럼 두 번째 것은 누가 가르쳐요?',
  'Tell me more about the delivery costs',
]) {
  test(`a message that leans on the conversation: ${message}`, (t) => t.true(dependsOnConversation(message)));
}

for (const message of [
  'How long do I have to return a lamp that I bought online?',
  'Which documents does the warranty claim for a dishwasher need?',
  'Wie lange kann ich eine Lampe nach dem Kauf zurückgeben?',
  'Is there parking near the main entrance of the museum?',
  'When does the first lesson of the Spanish course begin?',
  'Which trains go from Berlin to Prague in the morning?',
  'Wie lange haben Sie am Sonntag geöffnet?',
  'Gibt es einen Rabatt für Studenten im Museum?',
  'Wann beginnt die erste Stunde am Montag?',
  'Was kostet das neue Modell der Waschmaschine?',
  'Sie haben eine Filiale in Bremen mit Parkplatz?',
  '¿Cuánto cuestan el desayuno y el aparcamiento?',
  '¿Está abierto el museo esta noche hasta las diez?',
  'Quels documents faut-il pour ouvrir un compte ?',
  'Il y a un parking près de la gare centrale ?',
  '保修期从什么时候开始计算？',
  '返品の期限は何日以内ですか',
  `${'Our invoice names two addresses. '.repeat(15)} Is it right?`,
]) {
  test(`a message that stands alone: ${message.slice(0, 60)}`, (t) => t.false(dependsOnConversation(message)));
}

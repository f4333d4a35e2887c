import test from 'ava';
import { dependsOnConversation } from './question-dependence.ts';

for (const message of [
  'And how long does that take?',
  'Why?',
  'yes please',
  'What about lamps that arrived broken?',
  'Can I return it after thirty days without the receipt?',
  'Und wie lange?',
  'Tell me more about the delivery costs',
]) {
  test(`a message that leans on the conversation: ${message}`, (t) => t.true(dependsOnConversation(message)));
}

for (const message of [
  'How long do I have to return a lamp that I bought online?',
  'Which documents does the warranty claim for a dishwasher need?',
  'Wie lange kann ich eine Lampe nach dem Kauf zurückgeben?',
  `${'Our invoice names two addresses. '.repeat(15)} Is it right?`,
]) {
  test(`a message that stands alone: ${message.slice(0, 60)}`, (t) => t.false(dependsOnConversation(message)));
}

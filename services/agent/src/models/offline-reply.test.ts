import test from 'ava';
import type { ConversationMessage } from './model.ts';
import { composeReply } from './offline-reply.ts';
import { naughtyTexts } from './testing/naughty-texts.ts';

const TUTOR =
  'You are Ada, a patient maths tutor. You help students with fractions and percentages. A fraction has a numerator ' +
  'above the line and a denominator below it. To add fractions, bring them to the same denominator first. Percent ' +
  'means out of a hundred. Never give the whole solution.';

/** Returns the replies of a persona to these messages, in order. */
function talk(system: string, ...texts: string[]): string[] {
  const messages: ConversationMessage[] = [];
  return texts.map((text) => {
    messages.push({ role: 'user', text });
    const reply = composeReply(system, messages);
    messages.push({ role: 'assistant', text: reply });
    return reply;
  });
}

test('a greeting is answered with the identity and a topic', (t) => {
  for (const greeting of ['Hello!', 'hi', 'Good morning, Ada', 'Bonjour']) {
    t.regex(talk(TUTOR, greeting)[0] ?? '', /^Hello! I am Ada, a patient maths tutor\. .*fractions\?$/u);
  }
});

test('a greeting with a question gets an answer to the question', (t) => {
  t.regex(talk(TUTOR, 'Hi, what does percent mean?')[0] ?? '', /Percent means out of a hundred\./u);
});

test('a question is answered with the best matching sentence', (t) => {
  const [adding, percent] = talk(TUTOR, 'How do I add two fractions?', 'What does percent mean?');

  t.regex(adding ?? '', /To add fractions, bring them to the same denominator first\./u);
  t.regex(percent ?? '', /Percent means out of a hundred\./u);
});

test('a question about a meaning is answered with the definition', (t) => {
  const guide =
    'You are Robin, a guide to Parley. Parley is a platform for agents. When a session ends it is evaluated.';
  t.regex(talk(guide, 'What is Parley?')[0] ?? '', /^Parley is a platform for agents\./u);
  t.regex(talk(guide, 'How are they evaluated?')[0] ?? '', /When a session ends it is evaluated\./u);
});

test('earlier user messages are part of the answer', (t) => {
  const [, , reply] = talk(TUTOR, 'My homework is due on Friday.', 'ok', 'When is my homework due?');

  t.regex(reply ?? '', /Earlier you said: “My homework is due on Friday\.”/u);
});

test('a question without a match gets a reply that says so', (t) => {
  t.regex(
    talk(TUTOR, 'Who invented the telephone?')[0] ?? '',
    /^I find nothing on invented and telephone in what I was given\./u,
  );
});

test('style instructions are never part of a reply', (t) => {
  t.notRegex(talk(TUTOR, 'Will you give me the whole solution?')[0] ?? '', /Never give/u);
});

test('an interviewer asks about one topic after another', (t) => {
  const replies = talk('You interview engineers. Ask about Kafka and Redis.', 'Hello', 'I like it.', 'I see.');

  t.true(replies.some((reply) => reply.endsWith('Kafka?')));
  t.true(replies.some((reply) => reply.endsWith('Redis?')));
});

test('replies to similar messages do not repeat', (t) => {
  const replies = talk(TUTOR, 'ok', 'ok', 'ok', 'and?', 'and?');

  t.is(new Set(replies).size, replies.length);
});

test('a question in another script gets extracted sentences without English phrases', (t) => {
  t.is(talk('你是老师。分母在线的下面。', '分母在哪里？')[0], '分母在线的下面。');
});

test('any input gives a non-empty, deterministic reply', (t) => {
  for (const system of naughtyTexts) {
    for (const text of naughtyTexts) {
      const messages: ConversationMessage[] = [
        { role: 'user', text: 'Hello' },
        { role: 'assistant', text },
        { role: 'user', text },
      ];
      const reply = composeReply(system, messages);
      t.true(reply.trim().length > 0, JSON.stringify([system.slice(0, 20), text.slice(0, 20)]));
      t.is(composeReply(system, messages), reply);
    }
  }
});

test('a conversation without a user message is answered with a greeting', (t) => {
  t.regex(composeReply(TUTOR, []), /^Hello! I am Ada/u);
});

test('only the end of a long conversation is read', (t) => {
  const end: ConversationMessage[] = [{ role: 'user', text: 'What does percent mean?' }];
  const filler = (count: number) =>
    Array.from({ length: count }, (): ConversationMessage => ({ role: 'assistant', text: 'word '.repeat(5_000) }));

  t.is(composeReply(TUTOR, [...filler(10), ...end]), composeReply(TUTOR, [...filler(200), ...end]));
});

import test from 'ava';
import { highlighter } from './highlights.ts';

function of(...messages: [role: 'USER' | 'MODEL', text: string][]) {
  const collecting = highlighter();
  for (const [role, text] of messages) collecting.add({ role, text });
  return collecting.highlights();
}

test('questions of the agent are kept, in any script, each once', (t) => {
  const { questions } = of(
    ['MODEL', 'Welcome to the lesson. What is a variable in algebra?'],
    ['USER', 'What do you mean by a variable here?'],
    ['MODEL', '欢迎来到今天的课程。请问你知道什么是代数里面的变量吗？'],
    ['MODEL', 'مرحبا بكم في هذا الدرس. ما هو المتغير في الجبر؟'],
    ['MODEL', 'Again, please think. What is a variable in algebra?'],
  );
  t.deepEqual(questions, [
    '请问你知道什么是代数里面的变量吗？',
    'ما هو المتغير في الجبر؟',
    'What is a variable in algebra?',
  ]);
});

test('key points are statements of the longest replies, in the order of the conversation', (t) => {
  const statement = (n: number) => `Statement number ${n} says something.`;
  const { statements } = of(
    ['USER', `${statement(0)} ${'word '.repeat(500)}`],
    ...Array.from({ length: 12 }, (_, n): ['MODEL', string] => [
      'MODEL',
      `What do you think about it? ${statement(n + 1)} ${'Word '.repeat(10 * (n + 1))}`,
    ]),
  );
  t.deepEqual(statements, [5, 6, 7, 8, 9, 10, 11, 12].map(statement));
});

test('a conversation without questions or statements has no highlights', (t) => {
  t.deepEqual(of(['MODEL', 'Hi?'], ['USER', 'Hi.'], ['MODEL', '\uD800']), { statements: [], questions: [] });
});

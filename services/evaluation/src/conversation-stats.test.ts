import test from 'ava';
import { statsCounter } from './conversation-stats.ts';
import type { TranscriptLine } from './transcript.ts';

/** Parses lines of the form `U: …` (user) and `M: …` (model). */
function transcript(...lines: string[]): TranscriptLine[] {
  return lines.map((line, turnIndex) => ({
    role: line.startsWith('U') ? 'USER' : 'MODEL',
    text: line.slice(3),
    turnIndex,
    createdAt: '2026-01-02T03:04:05.678Z',
  }));
}

async function statsOf(subject: string, ...lines: string[]) {
  const counter = statsCounter(subject);
  await counter.count(transcript(...lines));
  return counter.stats();
}

test('messages, words, questions, answers and terms are counted', async (t) => {
  const stats = await statsOf(
    'Databases and their transactions',
    'M: Hello!',
    'U: Hi.',
    'M: What are databases for?',
    'U: For keeping a DATABASE of facts',
    'M: And why? Is that all?',
    'U: Yes.',
    'M: ',
    'U: I think.',
    'M: Anything else?',
    'M: Goodbye',
  );
  t.deepEqual(stats, {
    userMessages: 4,
    modelMessages: 5,
    userWords: 1 + 6 + 1 + 2,
    modelWords: 1 + 4 + 5 + 2 + 1,
    asked: 2,
    answered: 1,
    terms: ['Databases', 'transactions'],
    termsUsed: ['Databases'],
  });
});

test('counting in parts gives the same result as counting at once', async (t) => {
  const lines = transcript(
    'M: What is SQL?',
    'U: A language',
    'U: for databases',
    'M: And why?',
    'U: Because it lasts.',
  );
  const whole = statsCounter('SQL');
  await whole.count(lines);
  const pieces = statsCounter('SQL');
  for (const line of lines) await pieces.count([line]);
  t.deepEqual(pieces.stats(), whole.stats());
});

test('terms match whole words of any length and script', async (t) => {
  const used = async (subject: string, said: string) => (await statsOf(subject, `U: ${said}`)).termsUsed;
  t.deepEqual(await used('SQL', 'I know sql well'), ['SQL']);
  t.deepEqual(await used('AI, C++, C# and Go', 'c++ and AI, not go'), ['AI', 'C++', 'Go']);
  t.deepEqual(await used('AI', 'I said it again and again'), []);
  t.deepEqual(await used('C++', 'vitamin C'), []);
  t.deepEqual(await used('Cats', 'my cat'), ['Cats']);
  t.deepEqual(await used('数据 库', '数据 很 重要'), ['数据']);
  t.deepEqual(await used('Tax law', 'taxes and laws'), ['Tax', 'law']);
});

test('stop words and numbers are no terms', async (t) => {
  t.deepEqual((await statsOf('The art of asking, and how to do it in 2026')).terms, ['art', 'asking']);
  t.deepEqual((await statsOf('Datenbanken und das Netz')).terms, ['Datenbanken', 'Netz']);
  t.deepEqual((await statsOf('')).terms, []);
});

test('a question open at the end of the session is not counted', async (t) => {
  const { asked, answered } = await statsOf('', 'M: Why?', 'U: one two three four', 'M: And what of Kafka?');
  t.deepEqual([asked, answered], [1, 1]);
});

test('an answer is everything the person says before the next reply', async (t) => {
  const counts = async (...lines: string[]) => {
    const { asked, answered } = await statsOf('', ...lines);
    return `${answered} of ${asked}`;
  };
  t.is(await counts('M: Why?', 'U: one two three'), '0 of 1');
  t.is(await counts('M: Why?', 'U: one two three four'), '1 of 1');
  t.is(await counts('M: Why?', 'U: one two', 'U: three four'), '1 of 1');
  t.is(await counts('M: Why?', 'U: one two three four', 'U: one two three four'), '1 of 1');
  t.is(await counts('M: Why?', 'M: Take your time.', 'U: one two three four'), '1 of 1');
  t.is(await counts('M: Why?', 'U: no', 'M: I see.', 'U: one two three four'), '0 of 1');
  t.is(await counts('M: 为什么？', 'U: 因为 数据 很 重要'), '1 of 1');
});

test('a question mark inside a URL is no question', async (t) => {
  const asked = async (text: string) => (await statsOf('', `M: ${text}`, 'U: yes')).asked;
  t.is(await asked('See https://example.com/a?b=1 for that.'), 0);
  for (const text of ['Why?', '(Why?)', 'Why? Tell me.', '“Why?” she asked', '**Why?**', 'Why?!']) {
    t.is(await asked(text), 1, text);
  }
});

test('counting a long conversation yields to the event loop', async (t) => {
  const line = `U: ${'many words about databases '.repeat(40)}`;
  let turns = 0;
  const ticking = setInterval(() => {
    turns += 1;
  }, 1);
  const { userMessages } = await statsOf('Databases', ...Array.from({ length: 1_000 }, () => line));
  clearInterval(ticking);
  t.is(userMessages, 1_000);
  t.true(turns > 5, `${turns} turns`);
});

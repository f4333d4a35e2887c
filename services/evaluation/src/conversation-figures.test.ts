import test from 'ava';
import { figureCounter } from './conversation-figures.ts';
import type { TranscriptLine } from './transcript.ts';

/** Lines of `U: …` and `M: …`. */
function transcript(...lines: string[]): TranscriptLine[] {
  return lines.map((line, turnIndex) => ({
    role: line.startsWith('U') ? 'USER' : 'MODEL',
    text: line.slice(3),
    turnIndex,
    createdAt: '2026-01-02T03:04:05.678Z',
  }));
}

async function figuresOf(subject: string, ...lines: string[]) {
  const counter = figureCounter(subject);
  await counter.count(transcript(...lines));
  return counter.figures();
}

test('the figures are what can be counted', async (t) => {
  const figures = await figuresOf(
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
  t.deepEqual(figures, {
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

test('a conversation counted in pieces has the figures of the whole', async (t) => {
  const lines = transcript(
    'M: What is SQL?',
    'U: A language',
    'U: for databases',
    'M: And why?',
    'U: Because it lasts.',
  );
  const whole = figureCounter('SQL');
  await whole.count(lines);
  const pieces = figureCounter('SQL');
  for (const line of lines) await pieces.count([line]);
  t.deepEqual(pieces.figures(), whole.figures());
});

test('a short word is a term like any other', async (t) => {
  const used = async (subject: string, said: string) => (await figuresOf(subject, `U: ${said}`)).termsUsed;
  t.deepEqual(await used('SQL', 'I know sql well'), ['SQL']);
  t.deepEqual(await used('AI, C++, C# and Go', 'c++ and AI, not go'), ['AI', 'C++', 'Go']);
  t.deepEqual(await used('AI', 'I said it again and again'), []);
  t.deepEqual(await used('C++', 'vitamin C'), []);
  t.deepEqual(await used('Cats', 'my cat'), ['Cats']);
  t.deepEqual(await used('数据 库', '数据 很 重要'), ['数据']);
  t.deepEqual(await used('Tax law', 'taxes and laws'), ['Tax', 'law']);
});

test('words that hold a subject together are no terms of it, nor are numbers', async (t) => {
  t.deepEqual((await figuresOf('The art of asking, and how to do it in 2026')).terms, ['art', 'asking']);
  t.deepEqual((await figuresOf('Datenbanken und das Netz')).terms, ['Datenbanken', 'Netz']);
  t.deepEqual((await figuresOf('')).terms, []);
});

test('a question that the end of the session left open was not asked in vain', async (t) => {
  const { asked, answered } = await figuresOf('', 'M: Why?', 'U: one two three four', 'M: And what of Kafka?');
  t.deepEqual([asked, answered], [1, 1]);
});

test('an answer is all that the person says before the agent speaks again', async (t) => {
  const counts = async (...lines: string[]) => {
    const { asked, answered } = await figuresOf('', ...lines);
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

test('a question mark inside an address asks nothing', async (t) => {
  const asked = async (text: string) => (await figuresOf('', `M: ${text}`, 'U: yes')).asked;
  t.is(await asked('See https://example.com/a?b=1 for that.'), 0);
  for (const text of ['Why?', '(Why?)', 'Why? Tell me.', '“Why?” she asked', '**Why?**', 'Why?!']) {
    t.is(await asked(text), 1, text);
  }
});

test('a very long conversation leaves other work its turn', async (t) => {
  const line = `U: ${'many words about databases '.repeat(40)}`;
  let turns = 0;
  const ticking = setInterval(() => {
    turns += 1;
  }, 1);
  const { userMessages } = await figuresOf('Databases', ...Array.from({ length: 1_000 }, () => line));
  clearInterval(ticking);
  t.is(userMessages, 1_000);
  t.true(turns > 5, `${turns} turns`);
});

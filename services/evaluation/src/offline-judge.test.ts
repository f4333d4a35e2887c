import test from 'ava';
import { type Figures, figureCounter } from './conversation-figures.ts';
import { judgeOffline } from './offline-judge.ts';
import type { TranscriptLine } from './transcript.ts';

const labels = ['STRONG_HIRE', 'HIRE', 'HOLD', 'NO_HIRE'];

/** The figures of lines of `U: …` and `M: …` on databases. */
async function figuresOf(lines: string[], subject = 'Databases'): Promise<Figures> {
  const counter = figureCounter(subject);
  await counter.count(
    lines.map(
      (line, turnIndex): TranscriptLine => ({
        role: line.startsWith('U') ? 'USER' : 'MODEL',
        text: line.slice(3),
        turnIndex,
        createdAt: '2026-01-02T03:04:05.678Z',
      }),
    ),
  );
  return counter.figures();
}

const judged = async (...lines: string[]) => judgeOffline(await figuresOf(lines), labels, 'noModel');

test('the same conversation is always judged alike, and says that nothing was understood', async (t) => {
  const lines = ['M: What is an index?', 'U: A structure that makes lookups in databases fast'];
  const judgement = await judged(...lines);
  t.deepEqual(await judged(...lines), judgement);
  t.regex(judgement.summary, /^Judged offline, by counting and without a language model/);
  t.regex(judgement.summary, /The person sent 1 message \(8 words\), the agent 1 \(4 words\)\./);
  t.regex(judgement.summary, /The agent asked 1 time and got 1 answer of more than three words\./);
  t.regex(judgement.summary, /Of 1 term of the subject the person used 1\./);
  t.true(judgement.summary.endsWith(`The figures together give ${judgement.score} of 100.`));
  t.deepEqual(judgement.strengths, [
    'Answered in more than three words each time that the agent asked (1)',
    'Used terms of the subject: Databases',
  ]);
  t.deepEqual(judgement.weaknesses, ['Sent 1 message only']);
});

test('it says why no model has judged', async (t) => {
  const figures = await figuresOf(['U: Hello']);
  const summaryOf = (why: Parameters<typeof judgeOffline>[2]) => judgeOffline(figures, labels, why).summary;
  t.regex(summaryOf('noModel'), /No language model is configured\./);
  t.regex(summaryOf('noAnswer'), /The language model did not answer\./);
  t.regex(summaryOf('tooLong'), /did not take the conversation, however much it was shortened\./);
  t.regex(summaryOf('noFit'), /did not have the form that was asked for\./);
  t.regex(summaryOf('saidNothing'), /said nothing that a model could be asked about\./);
});

test('what the end of the session left open is held against nobody', async (t) => {
  const { summary, weaknesses } = await judged(
    'M: What is an index?',
    'U: A structure for databases',
    'M: And a lock?',
  );
  t.regex(summary, /The agent asked 1 time and got 1 answer/);
  t.deepEqual(weaknesses, ['Sent 1 message only', 'Spoke briefly (4 words a message on average)']);
  t.deepEqual((await judged('M: Shall we begin?')).weaknesses, ['Said nothing']);
});

test('without a subject nothing is said of one', async (t) => {
  const { summary, strengths, weaknesses } = judgeOffline(await figuresOf(['U: Hello there'], ''), labels, 'noModel');
  for (const text of [summary, ...strengths, ...weaknesses]) t.notRegex(text, /subject/);
});

test('who says nothing gets nothing, and who says more gets no less', async (t) => {
  const said = (words: number) => judged('M: What do you know?', `U: ${'databases '.repeat(words)}`);
  t.is((await judged('M: Hello?')).score, 0);
  t.is((await judged()).score, 0);
  let before = 0;
  for (const words of [1, 2, 4]) {
    const { score } = await said(words);
    t.true(score >= before, `${words} words`);
    before = score;
  }
  for (const { score } of [await said(1), await said(50_000), await judged('U: hi')]) {
    t.true(Number.isInteger(score) && score >= 0 && score <= 100);
  }
});

test('the score chooses among the labels from best to worst, and none where there are none', async (t) => {
  const good = await figuresOf(
    Array.from({ length: 6 }, () => [
      `M: ${'What are databases, transactions and indexes, and where would a recruiter find them '.repeat(3)}?`,
      `U: ${'databases transactions recruiter keep facts safe and many words more go here '.repeat(3)}`,
    ]).flat(),
  );
  const none = await figuresOf([]);
  t.is(judgeOffline(good, labels, 'noModel').recommendation, 'STRONG_HIRE');
  t.is(judgeOffline(none, labels, 'noModel').recommendation, 'NO_HIRE');
  t.is(judgeOffline(none, ['only'], 'noModel').recommendation, 'only');
  t.is(judgeOffline(good, [], 'noModel').recommendation, '');
});

import test from 'ava';
import { type ConversationStats, statsCounter } from './conversation-stats.ts';
import { judgeOffline } from './judge-offline.ts';
import type { TranscriptLine } from './transcript.ts';

const labels = ['STRONG_HIRE', 'HIRE', 'HOLD', 'NO_HIRE'];

/** Returns the statistics of a conversation, given as lines of the form `U: …` and `M: …`. Its subject is databases by default. */
async function statsOf(lines: string[], subject = 'Databases'): Promise<ConversationStats> {
  const counter = statsCounter(subject);
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
  return counter.stats();
}

const judged = async (...lines: string[]) => judgeOffline(await statsOf(lines), labels, 'noModel');

test('the same conversation always gets the same judgement, which says that it was made by counting', async (t) => {
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

test('the summary says why no model judged', async (t) => {
  const stats = await statsOf(['U: Hello']);
  const summaryOf = (reason: Parameters<typeof judgeOffline>[2]) => judgeOffline(stats, labels, reason).summary;
  t.regex(summaryOf('noModel'), /No language model is configured\./);
  t.regex(summaryOf('noAnswer'), /The language model did not answer\./);
  t.regex(summaryOf('spendCap'), /The monthly spend cap was reached, so a language model could not be asked\./);
  t.regex(summaryOf('tooLong'), /did not take the conversation, however much it was shortened\./);
  t.regex(summaryOf('invalidAnswer'), /did not have the form that was asked for\./);
  t.regex(summaryOf('noUserMessage'), /said nothing that a model could be asked about\./);
});

test('a question open at the end of the session does not count', async (t) => {
  const { summary, weaknesses } = await judged(
    'M: What is an index?',
    'U: A structure for databases',
    'M: And a lock?',
  );
  t.regex(summary, /The agent asked 1 time and got 1 answer/);
  t.deepEqual(weaknesses, ['Sent 1 message only', 'Spoke briefly (4 words a message on average)']);
  t.deepEqual((await judged('M: Shall we begin?')).weaknesses, ['Said nothing']);
});

test('without a subject the judgement does not mention one', async (t) => {
  const { summary, strengths, weaknesses } = judgeOffline(await statsOf(['U: Hello there'], ''), labels, 'noModel');
  for (const text of [summary, ...strengths, ...weaknesses]) t.notRegex(text, /subject/);
});

test('no words score 0, and more words score no less', async (t) => {
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

test('the score selects the label, best first; without labels it is empty', async (t) => {
  const good = await statsOf(
    Array.from({ length: 6 }, () => [
      `M: ${'What are databases, transactions and indexes, and where would a recruiter find them '.repeat(3)}?`,
      `U: ${'databases transactions recruiter keep facts safe and many words more go here '.repeat(3)}`,
    ]).flat(),
  );
  const none = await statsOf([]);
  t.is(judgeOffline(good, labels, 'noModel').recommendation, 'STRONG_HIRE');
  t.is(judgeOffline(none, labels, 'noModel').recommendation, 'NO_HIRE');
  t.is(judgeOffline(none, ['only'], 'noModel').recommendation, 'only');
  t.is(judgeOffline(good, [], 'noModel').recommendation, '');
});

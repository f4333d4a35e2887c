import type { Agent } from '@parley/protos/parley/agent/v1/agent';
import test from 'ava';
import { figuresOf, judgeOffline } from './offline-judge.ts';
import type { TranscriptLine } from './transcript.ts';

const agent: Agent = {
  id: 5,
  name: 'Ivy',
  personaPrompt: 'You always ask about transactions. Please answer politely.',
  position: 'Recruiter',
  subject: 'Databases',
  openingGreeting: '',
  useCase: 'INTERVIEW',
  active: true,
  deleted: false,
  evaluationPromptTemplate: '',
};
const labels = ['STRONG_HIRE', 'HIRE', 'HOLD', 'NO_HIRE'];

function transcript(...lines: string[]): TranscriptLine[] {
  return lines.map((line, turnIndex) => ({
    role: line.startsWith('U') ? 'USER' : 'MODEL',
    text: line.slice(3),
    turnIndex,
    createdAt: '2026-01-02T03:04:05.678Z',
  }));
}

test('the figures are what can be counted', async (t) => {
  const figures = await figuresOf(
    agent,
    transcript(
      'M: Hello!',
      'U: Hi.',
      'M: What are databases for?',
      'U: For transactions, and for DATABASES of facts',
      'M: And why? Is that all?',
      'U: Yes.',
      'M: Anything else?',
      'M: Goodbye',
      'U:    ',
    ),
  );
  t.deepEqual(figures, {
    userMessages: 3,
    modelMessages: 5,
    userWords: 1 + 7 + 1,
    modelWords: 1 + 4 + 5 + 2 + 1,
    asked: 3,
    answered: 1,
    terms: ['databases', 'recruiter', 'transactions'],
    termsUsed: ['databases', 'transactions'],
  });
});

test('a question counts as answered only by what the person said right after it, in more than three words', async (t) => {
  const answered = async (...lines: string[]) => (await figuresOf(agent, transcript(...lines))).answered;
  t.is(await answered('M: Why?', 'U: one two three'), 0);
  t.is(await answered('M: Why?', 'U: one two three four'), 1);
  t.is(await answered('M: Why?', 'M: Well', 'U: one two three four'), 0);
  t.is(await answered('M: Why?', 'U: one two three four', 'U: one two three four'), 1);
  t.is(await answered('M: 为什么？', 'U: 因为 数据 很 重要'), 1);
});

test('the same conversation is always judged alike, and says that nothing was understood', async (t) => {
  const lines = transcript('M: What is an index?', 'U: A structure that makes lookups in databases fast');
  const judgement = await judgeOffline(agent, lines, labels);
  t.deepEqual(await judgeOffline(agent, lines, labels), judgement);
  t.regex(judgement.summary, /^Judged offline, by counting and without a language model/);
  t.regex(judgement.summary, /The person sent 1 message \(8 words\), the agent 1 \(4 words\)\./);
  t.regex(judgement.summary, /The agent asked 1 time and got 1 answer of more than three words\./);
  t.regex(judgement.summary, /Of 3 terms of its subject the person used 1\./);
  t.true(judgement.summary.endsWith(`The figures together give ${judgement.score} of 100.`));
  t.deepEqual(judgement.strengths, ['Answered every question that was asked (1)', 'Spoke to the subject: databases']);
  t.deepEqual(judgement.weaknesses, ['The conversation was too short to say much']);
});

test('who says nothing gets nothing, and who says more gets no less', async (t) => {
  const said = (words: number) => transcript('M: What do you know?', `U: ${'databases '.repeat(words)}`);
  t.is((await judgeOffline(agent, transcript('M: Hello?'), labels)).score, 0);
  t.is((await judgeOffline(agent, [], labels)).score, 0);
  let before = 0;
  for (const words of [1, 2, 4]) {
    const { score } = await judgeOffline(agent, said(words), labels);
    t.true(score >= before, `${words} words`);
    before = score;
  }
  for (const lines of [said(1), said(50_000), transcript('U: hi')]) {
    const { score } = await judgeOffline(agent, lines, labels);
    t.true(Number.isInteger(score) && score >= 0 && score <= 100);
  }
});

test('the score chooses among the labels from best to worst, and none where there are none', async (t) => {
  const good = transcript(
    ...Array.from({ length: 6 }, () => [
      `M: ${'What are databases, transactions and indexes, and where would a recruiter find them '.repeat(3)}?`,
      `U: ${'databases transactions recruiter keep facts safe and many words more go here '.repeat(3)}`,
    ]).flat(),
  );
  t.is((await judgeOffline(agent, good, labels)).recommendation, 'STRONG_HIRE');
  t.is((await judgeOffline(agent, [], labels)).recommendation, 'NO_HIRE');
  t.is((await judgeOffline(agent, [], ['only'])).recommendation, 'only');
  t.is((await judgeOffline(agent, good, [])).recommendation, '');
});

test('a very long conversation leaves other work its turn', async (t) => {
  const line = `U: ${'many words about databases '.repeat(40)}`;
  let turns = 0;
  const ticking = setInterval(() => {
    turns += 1;
  }, 1);
  const { userMessages } = await figuresOf(agent, transcript(...Array.from({ length: 1_000 }, () => line)));
  clearInterval(ticking);
  t.is(userMessages, 1_000);
  t.true(turns > 5, `${turns} turns`);
});

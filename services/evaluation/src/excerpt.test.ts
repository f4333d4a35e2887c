import { strictTokenBound, usualTokenBound } from '@parley/text/token-bound';
import test from 'ava';
import { type Excerpt, excerptFitter, isWhole, promptLine } from './excerpt.ts';
import { omissionMark, sampler } from './sample.ts';
import type { TranscriptLine } from './transcript.ts';

const createdAt = '2026-01-02T03:04:05.678Z';

/** Makes messages of these lengths. The first message is the agent's. */
function conversation(lengths: number[]): TranscriptLine[] {
  return lengths.map((length, turnIndex) => ({
    role: turnIndex % 2 === 0 ? 'MODEL' : 'USER',
    text: `${turnIndex} `.padEnd(length, 'word '),
    turnIndex,
    createdAt,
  }));
}

function excerptWithin(lines: TranscriptLine[], maxTokens: number, characters = 1_000_000): Excerpt {
  const sampling = sampler(characters);
  for (let at = 0; at < lines.length; at += 7) sampling.add(lines.slice(at, at + 7));
  return excerptFitter(sampling.sample(), usualTokenBound)(maxTokens);
}

const sizeOf = ({ lines }: Excerpt) => lines.reduce((sum, line) => sum + usualTokenBound(promptLine(line)), 0);
const places = ({ lines }: Excerpt) => lines.map(({ turnIndex }) => turnIndex);

test('a conversation within the limit is shown whole', (t) => {
  const lines = conversation([100, 200, 100, 300]);
  const excerpt = excerptWithin(lines, 2_000);
  t.deepEqual(excerpt, { messages: 4, lines, truncated: 0 });
  t.true(isWhole(excerpt));
  t.true(isWhole(excerptWithin([], 10)));
});

test('the longest messages are truncated before any is left out', (t) => {
  const excerpt = excerptWithin(conversation([100, 20_000, 100, 300]), 2_000);
  t.deepEqual(places(excerpt), [0, 1, 2, 3]);
  t.is(excerpt.truncated, 1);
  t.true(excerpt.lines[1]?.text.includes(omissionMark));
  t.regex(excerpt.lines[1]?.text ?? '', /^1 word/);
  t.true(sizeOf(excerpt) <= 2_000 && sizeOf(excerpt) > 1_500, `${sizeOf(excerpt)}`);
  t.false(isWhole(excerpt));
});

test('exchanges of a long conversation are shown from first to last, evenly spread', (t) => {
  const excerpt = excerptWithin(conversation(Array.from({ length: 2_000 }, () => 200)), 10_000);
  const at = places(excerpt);
  t.true(sizeOf(excerpt) <= 10_000 && sizeOf(excerpt) > 7_000, `${sizeOf(excerpt)}`);
  t.is(at[0], 0);
  t.is(at.at(-1), 1_999);
  for (const tenth of Array.from({ length: 10 }, (_, n) => n)) {
    t.true(at.filter((index) => Math.floor(index / 200) === tenth).length > at.length / 20, `${tenth}`);
  }
  // A user's message is shown together with its reply.
  const shown = new Set(at);
  for (const index of at) if (index % 2 === 1 && index < 1_999) t.true(shown.has(index + 1));
  t.is(excerpt.truncated, 0);
  t.is(excerpt.messages, 2_000);
});

test('a message above the limit is truncated', (t) => {
  for (const lengths of [[500_000], [10, 500_000], [500_000, 500_000, 500_000]]) {
    const excerpt = excerptWithin(conversation(lengths), 1_000, 200_000);
    t.is(excerpt.lines.length, lengths.length);
    t.true(sizeOf(excerpt) <= 1_000 && sizeOf(excerpt) > 600, `${sizeOf(excerpt)}`);
    t.is(excerpt.truncated, lengths.filter((length) => length > 1_000).length);
  }
});

test('an excerpt never exceeds its limit, however small', (t) => {
  for (const maxTokens of [0, 1, 50, 100, 300, 500]) {
    for (const lengths of [[500], [500_000], Array.from({ length: 300 }, () => 400)]) {
      const excerpt = excerptWithin(conversation(lengths), maxTokens);
      t.true(sizeOf(excerpt) <= maxTokens, `${maxTokens}: ${sizeOf(excerpt)}`);
      t.is(excerpt.messages, lengths.length);
      t.false(isWhole(excerpt) && excerpt.lines.length === 0);
    }
  }
});

test('a sample of a long conversation is bounded and has its start, its end and exchanges between', (t) => {
  const sampling = sampler(100_000);
  let longest = 0;
  for (let part = 0; part < 200; part += 1) {
    sampling.add(
      Array.from({ length: 100 }, (_, at) => {
        const turnIndex = part * 100 + at;
        return {
          role: turnIndex % 2 === 0 ? 'MODEL' : 'USER',
          text: `${turnIndex} `.padEnd(300, 'x'),
          turnIndex,
          createdAt,
        };
      }),
    );
  }
  const { messages, exchanges, truncated } = sampling.sample();
  const lines = exchanges.flat();
  for (const { text } of lines) longest += text.length;
  t.is(messages, 20_000);
  t.is(truncated.size, 0);
  t.true(longest < 110_000 && longest > 25_000, `${longest}`);
  t.deepEqual(
    lines.map(({ turnIndex }) => turnIndex),
    lines.map(({ turnIndex }) => turnIndex).toSorted((a, b) => a - b),
  );
  t.is(lines[0]?.turnIndex, 0);
  t.is(lines.at(-1)?.turnIndex, 19_999);
  t.false(isWhole(excerptFitter({ messages, exchanges, truncated }, strictTokenBound)(1_000_000)));
});

test('long first messages do not displace later ones', (t) => {
  const sampling = sampler(100_000);
  sampling.add(conversation([200_000, 200_000, 200_000, 200_000, ...Array.from({ length: 996 }, () => 300)]));
  const between = sampling
    .sample()
    .exchanges.flat()
    .filter(({ turnIndex }) => turnIndex > 20 && turnIndex < 980);
  t.true(between.length > 100, `${between.length}`);
});

test('truncation splits no surrogate pair', (t) => {
  for (let maxTokens = 60; maxTokens < 160; maxTokens += 1) {
    const excerpt = excerptWithin([{ role: 'USER', text: '🦜'.repeat(500), turnIndex: 0, createdAt }], maxTokens);
    for (const { text } of excerpt.lines) t.is(text.replaceAll('🦜', ''), omissionMark);
  }
});

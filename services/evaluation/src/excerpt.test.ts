import { strictTokenBound, usualTokenBound } from '@parley/text/token-bound';
import test from 'ava';
import { condenser, type Excerpt, isWhole, shownLine } from './excerpt.ts';
import { leftOut, sampler } from './sample.ts';
import type { TranscriptLine } from './transcript.ts';

const createdAt = '2026-01-02T03:04:05.678Z';

/** Messages of so many characters, the agent's first. */
function conversation(lengths: number[]): TranscriptLine[] {
  return lengths.map((length, turnIndex) => ({
    role: turnIndex % 2 === 0 ? 'MODEL' : 'USER',
    text: `${turnIndex} `.padEnd(length, 'word '),
    turnIndex,
    createdAt,
  }));
}

function condensed(lines: TranscriptLine[], room: number, characters = 1_000_000): Excerpt {
  const sampling = sampler(characters);
  for (let at = 0; at < lines.length; at += 7) sampling.add(lines.slice(at, at + 7));
  return condenser(sampling.sample(), usualTokenBound)(room);
}

const sizeOf = ({ lines }: Excerpt) => lines.reduce((sum, line) => sum + usualTokenBound(shownLine(line)), 0);
const places = ({ lines }: Excerpt) => lines.map(({ turnIndex }) => turnIndex);

test('a conversation that fits is shown whole', (t) => {
  const lines = conversation([100, 200, 100, 300]);
  const excerpt = condensed(lines, 2_000);
  t.deepEqual(excerpt, { messages: 4, lines, cut: 0 });
  t.true(isWhole(excerpt));
  t.true(isWhole(condensed([], 10)));
});

test('the longest messages lose their middle before any is left out', (t) => {
  const excerpt = condensed(conversation([100, 20_000, 100, 300]), 2_000);
  t.deepEqual(places(excerpt), [0, 1, 2, 3]);
  t.is(excerpt.cut, 1);
  t.true(excerpt.lines[1]?.text.includes(leftOut));
  t.regex(excerpt.lines[1]?.text ?? '', /^1 word/);
  t.true(sizeOf(excerpt) <= 2_000 && sizeOf(excerpt) > 1_500, `${sizeOf(excerpt)}`);
  t.false(isWhole(excerpt));
});

test('of many messages those shown are spread from the first to the last, questions with their answers', (t) => {
  const excerpt = condensed(conversation(Array.from({ length: 2_000 }, () => 200)), 10_000);
  const at = places(excerpt);
  t.true(sizeOf(excerpt) <= 10_000 && sizeOf(excerpt) > 7_000, `${sizeOf(excerpt)}`);
  t.is(at[0], 0);
  t.is(at.at(-1), 1_999);
  for (const tenth of Array.from({ length: 10 }, (_, n) => n)) {
    t.true(at.filter((index) => Math.floor(index / 200) === tenth).length > at.length / 20, `${tenth}`);
  }
  // A message of the person is followed by its reply, where it has one.
  const shown = new Set(at);
  for (const index of at) if (index % 2 === 1 && index < 1_999) t.true(shown.has(index + 1));
  t.is(excerpt.cut, 0);
  t.is(excerpt.messages, 2_000);
});

test('one message longer than all of the room is shown in part', (t) => {
  for (const lengths of [[500_000], [10, 500_000], [500_000, 500_000, 500_000]]) {
    const excerpt = condensed(conversation(lengths), 1_000, 200_000);
    t.is(excerpt.lines.length, lengths.length);
    t.true(sizeOf(excerpt) <= 1_000 && sizeOf(excerpt) > 600, `${sizeOf(excerpt)}`);
    t.is(excerpt.cut, lengths.filter((length) => length > 1_000).length);
  }
});

test('in next to no room there is next to nothing, and never too much', (t) => {
  for (const room of [0, 1, 50, 100, 300, 500]) {
    for (const lengths of [[500], [500_000], Array.from({ length: 300 }, () => 400)]) {
      const excerpt = condensed(conversation(lengths), room);
      t.true(sizeOf(excerpt) <= room, `${room}: ${sizeOf(excerpt)}`);
      t.is(excerpt.messages, lengths.length);
      t.false(isWhole(excerpt) && excerpt.lines.length === 0);
    }
  }
});

test('a conversation of any length is kept within bounds, with its beginning, its end and what lies between', (t) => {
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
  const { messages, exchanges, cut } = sampling.sample();
  const lines = exchanges.flat();
  for (const { text } of lines) longest += text.length;
  t.is(messages, 20_000);
  t.is(cut.size, 0);
  t.true(longest < 110_000 && longest > 25_000, `${longest}`);
  t.deepEqual(
    lines.map(({ turnIndex }) => turnIndex),
    lines.map(({ turnIndex }) => turnIndex).toSorted((a, b) => a - b),
  );
  t.is(lines[0]?.turnIndex, 0);
  t.is(lines.at(-1)?.turnIndex, 19_999);
  t.false(isWhole(condenser({ messages, exchanges, cut }, strictTokenBound)(1_000_000)));
});

test('a long beginning takes nothing from what follows it', (t) => {
  const sampling = sampler(100_000);
  sampling.add(conversation([200_000, 200_000, 200_000, 200_000, ...Array.from({ length: 996 }, () => 300)]));
  const between = sampling
    .sample()
    .exchanges.flat()
    .filter(({ turnIndex }) => turnIndex > 20 && turnIndex < 980);
  t.true(between.length > 100, `${between.length}`);
});

test('a text is never cut inside a character', (t) => {
  for (let room = 60; room < 160; room += 1) {
    const excerpt = condensed([{ role: 'USER', text: '🦜'.repeat(500), turnIndex: 0, createdAt }], room);
    for (const { text } of excerpt.lines) t.is(text.replaceAll('🦜', ''), leftOut);
  }
});

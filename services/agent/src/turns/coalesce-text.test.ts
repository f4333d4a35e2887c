import { setImmediate as nextTick } from 'node:timers/promises';
import { noUsage } from '@parley/protos/turn-usage';
import test from 'ava';
import { coalesceText } from './coalesce-text.ts';
import type { TurnEvent } from './turn.ts';

const text = (value: string): TurnEvent => ({ text: value });
const tokens = (tokensOut: number): Required<Pick<TurnEvent, 'usage'>> => ({ usage: { ...noUsage, tokensOut } });

async function allOf(events: AsyncGenerator<TurnEvent>): Promise<TurnEvent[]> {
  const all: TurnEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

test('text events of one tick are joined with the last usage, and others stay apart', async (t) => {
  async function* source() {
    yield { ...text(''), ...tokens(1), passages: [] };
    yield { ...text('All '), ...tokens(2) };
    yield { ...text('at '), ...tokens(3) };
    yield text('once.');
    yield { ...text(''), ...tokens(4) };
    yield { ...text(''), ...tokens(5) };
  }
  t.deepEqual(await allOf(coalesceText(source())), [
    { ...text(''), ...tokens(1), passages: [] },
    { ...text('All at once.'), ...tokens(3) },
    { ...text(''), ...tokens(4) },
    { ...text(''), ...tokens(5) },
  ]);
});

test('a text event is not delayed by a later one', async (t) => {
  const later = Promise.withResolvers<void>();
  async function* source() {
    yield text('Now. ');
    await later.promise;
    yield text('Later.');
  }
  const coalesced = coalesceText(source());
  t.deepEqual(await coalesced.next(), { done: false, value: text('Now. ') });
  later.resolve();
  t.deepEqual(await allOf(coalesced), [text('Later.')]);
});

test('text events of different ticks stay separate and in order', async (t) => {
  const pieces = ['one ', 'two ', 'three '];
  async function* source() {
    for (const piece of pieces) {
      yield text(piece);
      for (let ticks = 0; ticks < 3; ticks += 1) await nextTick();
    }
  }
  t.deepEqual(await allOf(coalesceText(source())), pieces.map(text));
});

test('an error follows the text before it', async (t) => {
  async function* source() {
    yield text('Half a ');
    yield text('sentence');
    throw new Error('the model failed');
  }
  const coalesced = coalesceText(source());
  t.deepEqual(await coalesced.next(), { done: false, value: text('Half a sentence') });
  await t.throwsAsync(coalesced.next(), { message: 'the model failed' });
});

test('returning early ends the source, even while it is waiting', async (t) => {
  const silence = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  async function* source() {
    try {
      yield text('Hello');
      await silence.promise;
      yield text('never received');
    } finally {
      ended.resolve();
    }
  }
  const coalesced = coalesceText(source());
  await coalesced.next();
  await coalesced.return(undefined);
  silence.resolve();
  await t.notThrowsAsync(ended.promise);
});

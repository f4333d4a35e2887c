import { setImmediate as nextTick } from 'node:timers/promises';
import test from 'ava';
import { gatherText } from './gather-text.ts';
import type { TurnEvent } from './run-turn.ts';

const text = (value: string): TurnEvent => ({ type: 'text', text: value });
const finished: TurnEvent = { type: 'finished', tokensIn: 1, tokensOut: 2, providerId: 'p', modelId: 'm' };

async function allOf(events: AsyncGenerator<TurnEvent>): Promise<TurnEvent[]> {
  const all: TurnEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

test('pieces that come together leave together, and the end after them', async (t) => {
  async function* source() {
    yield text('All ');
    yield text('at ');
    yield text('once.');
    yield finished;
  }
  t.deepEqual(await allOf(gatherText(source())), [text('All at once.'), finished]);
});

test('a piece does not wait for one that is still to come', async (t) => {
  const later = Promise.withResolvers<void>();
  async function* source() {
    yield text('Now. ');
    await later.promise;
    yield text('Later.');
    yield finished;
  }
  const gathered = gatherText(source());
  t.deepEqual(await gathered.next(), { done: false, value: text('Now. ') });
  later.resolve();
  t.deepEqual(await allOf(gathered), [text('Later.'), finished]);
});

test('pieces of several ticks stay apart and in order', async (t) => {
  const pieces = ['one ', 'two ', 'three '];
  async function* source() {
    for (const piece of pieces) {
      yield text(piece);
      for (let ticks = 0; ticks < 3; ticks += 1) await nextTick();
    }
  }
  t.deepEqual(await allOf(gatherText(source())), pieces.map(text));
});

test('a failure comes after the text before it', async (t) => {
  async function* source() {
    yield text('Half a ');
    yield text('sentence');
    throw new Error('the model is gone');
  }
  const gathered = gatherText(source());
  t.deepEqual(await gathered.next(), { done: false, value: text('Half a sentence') });
  await t.throwsAsync(gathered.next(), { message: 'the model is gone' });
});

test('who stops listening ends the source, also while it is silent', async (t) => {
  const silence = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  async function* source() {
    try {
      yield text('Hello');
      await silence.promise;
      yield text('never heard');
    } finally {
      ended.resolve();
    }
  }
  const gathered = gatherText(source());
  await gathered.next();
  await gathered.return(undefined);
  silence.resolve();
  await t.notThrowsAsync(ended.promise);
});

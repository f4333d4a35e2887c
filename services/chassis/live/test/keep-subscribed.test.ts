import { badRequest, unavailable } from '@parley/kernel/errors';
import { createLogger } from '@parley/kernel/log';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { keepSubscribed } from '../src/key-value/keep-subscribed.ts';
import { memoryKeyValue } from '../src/key-value/memory-key-value.ts';

const log = createLogger('test', { LOG_LEVEL: 'silent' });
const channel = 'parley:test:news';

/** A key-value engine that is away until `back` is called, and then counts who listens. */
function awayAtFirst() {
  const memory = memoryKeyValue();
  const state = { isAway: true, tries: 0, listeners: 0 };
  return {
    state,
    publish: (message: string) => memory.publish(channel, message),
    keyValue: {
      async subscribe(to: string, handler: (message: string) => void) {
        state.tries += 1;
        if (state.isAway) throw unavailable('Redis is away');
        const unsubscribe = await memory.subscribe(to, handler);
        state.listeners += 1;
        return async () => {
          state.listeners -= 1;
          await unsubscribe();
        };
      },
    },
  };
}

test('who subscribes while the engine is away starts, listens when it is back, and stops listening', async (t) => {
  const { state, publish, keyValue } = awayAtFirst();
  const heard: string[] = [];
  const leave = await keepSubscribed(keyValue, { channel, handler: (text) => heard.push(text), log, firstPauseMs: 1 });
  await eventually('it has tried again', () => state.tries > 2);
  state.isAway = false;
  await eventually('it listens', () => state.listeners === 1);
  await publish('news');
  await eventually('it is heard', () => heard.length === 1);
  await leave();
  t.is(state.listeners, 0);
});

test('who leaves before the engine is back never listens', async (t) => {
  const { state, keyValue } = awayAtFirst();
  const leave = await keepSubscribed(keyValue, { channel, handler: () => undefined, log, firstPauseMs: 1 });
  await leave();
  state.isAway = false;
  const { tries } = state;
  await new Promise(setImmediate);
  t.deepEqual([state.tries, state.listeners], [tries, 0]);
});

test('a channel that cannot be is refused at once', async (t) => {
  const keyValue = { subscribe: () => Promise.reject(badRequest('no such channel')) };
  await t.throwsAsync(keepSubscribed(keyValue, { channel, handler: () => undefined, log }), {
    message: 'no such channel',
  });
});

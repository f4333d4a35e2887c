import { badRequest, unavailable } from '@parley/kernel/errors';
import { createLogger } from '@parley/kernel/telemetry/log';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { keepSubscribed } from '../src/key-value/keep-subscribed.ts';
import { memoryKeyValue } from '../src/key-value/memory-key-value.ts';

const log = createLogger('test', { LOG_LEVEL: 'silent' });
const channel = 'parley:test:news';

/** A key-value engine with an outage until `isDown` is unset. It counts attempts and subscriptions. */
function downAtFirst() {
  const memory = memoryKeyValue();
  const state = { isDown: true, attempts: 0, listeners: 0 };
  return {
    state,
    publish: (message: string) => memory.publish(channel, message),
    keyValue: {
      async subscribe(to: string, handler: (message: string) => void) {
        state.attempts += 1;
        if (state.isDown) throw unavailable('Redis is unavailable');
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

test('a subscription begun in an outage is restored after it, and can be ended', async (t) => {
  const { state, publish, keyValue } = downAtFirst();
  const received: string[] = [];
  const end = await keepSubscribed(keyValue, { channel, handler: (text) => received.push(text), log, firstPauseMs: 1 });
  await eventually('it has retried', () => state.attempts > 2);
  state.isDown = false;
  await eventually('it has subscribed', () => state.listeners === 1);
  await publish('news');
  await eventually('it is received', () => received.length === 1);
  await end();
  t.is(state.listeners, 0);
});

test('a subscription ended during an outage is not restored', async (t) => {
  const { state, keyValue } = downAtFirst();
  const end = await keepSubscribed(keyValue, { channel, handler: () => undefined, log, firstPauseMs: 1 });
  await end();
  state.isDown = false;
  const { attempts } = state;
  await new Promise(setImmediate);
  t.deepEqual([state.attempts, state.listeners], [attempts, 0]);
});

test('an invalid channel is refused at once', async (t) => {
  const keyValue = { subscribe: () => Promise.reject(badRequest('no such channel')) };
  await t.throwsAsync(keepSubscribed(keyValue, { channel, handler: () => undefined, log }), {
    message: 'no such channel',
  });
});

import { createGate } from '@parley/testing/gate';
import test, { type ExecutionContext } from 'ava';
import { watchConsumer } from './kafka-watch.ts';

/** Where it beats, the time is long enough for a beat that a busy machine delays. */
function watched(t: ExecutionContext, share: Parameters<typeof watchConsumer>[1], stalledAfterMs = 1_200) {
  const stalled = Promise.withResolvers<Error>();
  let beat: () => void = () => undefined;
  const onSignOfLife = (listener: () => void) => {
    beat = listener;
  };
  t.teardown(watchConsumer(onSignOfLife, share, stalledAfterMs, stalled.resolve));
  return {
    stalled: stalled.promise,
    beatOnAndOn() {
      const timer = setInterval(() => beat(), 5);
      t.teardown(() => clearInterval(timer));
    },
  };
}

test('a consumer that neither fetches nor beats has stalled', async (t) => {
  const { stalled } = watched(t, { stuckForMs: () => 0, commitAgain: () => undefined }, 80);
  t.regex((await stalled).message, /neither fetched nor beat/);
});

test('a consumer that beats and brings nothing of what waits has stalled', async (t) => {
  const startedAt = performance.now();
  const { stalled, beatOnAndOn } = watched(t, {
    stuckForMs: () => performance.now() - startedAt,
    commitAgain: () => undefined,
  });
  beatOnAndOn();
  t.regex((await stalled).message, /brought and committed nothing/);
});

test('while a consumer is well, what it could not commit is tried again', async (t) => {
  const again = createGate();
  const { stalled, beatOnAndOn } = watched(t, { stuckForMs: () => 0, commitAgain: () => again.release() });
  beatOnAndOn();
  const outcome = await Promise.race([stalled, Promise.all(Array.from({ length: 6 }, () => again.pass()))]);
  t.true(Array.isArray(outcome));
});

import { createGate } from '@parley/testing/gate';
import test, { type ExecutionContext } from 'ava';
import { watchConsumer } from './kafka-watch.ts';

/** The default is long enough for a heartbeat that a busy machine delays. */
function watched(t: ExecutionContext, assignment: Parameters<typeof watchConsumer>[1], stalledAfterMs = 1_200) {
  const stalled = Promise.withResolvers<Error>();
  let beat: () => void = () => undefined;
  const onActivity = (listener: () => void) => {
    beat = listener;
  };
  t.teardown(watchConsumer(onActivity, assignment, stalledAfterMs, stalled.resolve));
  return {
    stalled: stalled.promise,
    keepBeating() {
      const timer = setInterval(() => beat(), 5);
      t.teardown(() => clearInterval(timer));
    },
  };
}

test('a consumer without fetches and heartbeats has stalled', async (t) => {
  const { stalled } = watched(t, { noProgressForMs: () => 0, retryCommit: () => undefined }, 80);
  t.regex((await stalled).message, /neither fetched nor sent a heartbeat/);
});

test('a consumer that sends heartbeats but delivers no waiting events has stalled', async (t) => {
  const startedAt = performance.now();
  const { stalled, keepBeating } = watched(t, {
    noProgressForMs: () => performance.now() - startedAt,
    retryCommit: () => undefined,
  });
  keepBeating();
  t.regex((await stalled).message, /neither delivered nor committed/);
});

test('failed commits of a healthy consumer are retried', async (t) => {
  const again = createGate();
  const { stalled, keepBeating } = watched(t, { noProgressForMs: () => 0, retryCommit: () => again.release() });
  keepBeating();
  const outcome = await Promise.race([stalled, Promise.all(Array.from({ length: 6 }, () => again.pass()))]);
  t.true(Array.isArray(outcome));
});

import { createGate } from '@parley/testing/gate';
import test, { type ExecutionContext } from 'ava';
import { watchConsumer } from './kafka-watch.ts';

type Watched = Parameters<typeof watchConsumer>[1];

const healthy: Watched = { noProgressForMs: () => 0, revokedForMs: () => 0, retryCommit: () => undefined };

/** The default of `stalledAfterMs` is long enough for a heartbeat that is late on a busy machine. */
function watched(t: ExecutionContext, assignment: Partial<Watched>, stalledAfterMs = 1_200) {
  const stalled = Promise.withResolvers<Error>();
  let beat: () => void = () => undefined;
  const onActivity = (listener: () => void) => {
    beat = listener;
  };
  t.teardown(watchConsumer(onActivity, { ...healthy, ...assignment }, stalledAfterMs, stalled.resolve));
  return {
    stalled: stalled.promise,
    keepBeating() {
      const timer = setInterval(() => beat(), 5);
      t.teardown(() => clearInterval(timer));
    },
  };
}

test('a consumer without fetches and heartbeats has stalled', async (t) => {
  const { stalled } = watched(t, {}, 80);
  t.regex((await stalled).message, /neither fetched nor sent a heartbeat/);
});

test('a consumer that sends heartbeats but delivers no waiting events has stalled', async (t) => {
  const startedAt = performance.now();
  const { stalled, keepBeating } = watched(t, { noProgressForMs: () => performance.now() - startedAt });
  keepBeating();
  t.regex((await stalled).message, /neither delivered nor committed/);
});

test('a consumer that continues to fetch without its partitions has stalled', async (t) => {
  const startedAt = performance.now();
  const { stalled, keepBeating } = watched(t, { revokedForMs: () => performance.now() - startedAt });
  keepBeating();
  t.regex((await stalled).message, /without having joined its group again/);
});

test('failed commits of a healthy consumer are retried', async (t) => {
  const again = createGate();
  const { stalled, keepBeating } = watched(t, { retryCommit: () => again.release() });
  keepBeating();
  const outcome = await Promise.race([stalled, Promise.all(Array.from({ length: 6 }, () => again.pass()))]);
  t.true(Array.isArray(outcome));
});

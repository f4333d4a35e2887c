import { withinProcessorTime } from '@parley/json-schema/within-processor-time';
import test from 'ava';

/** Blocks the thread without taking processor time, as if a busy machine had suspended the work. */
function sleep(ms: number): object {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  return { done: true };
}

test.serial('work that a busy machine has stopped gets more time', (t) => {
  t.deepEqual(
    withinProcessorTime(20, () => sleep(100)),
    { done: true },
  );
});

test.serial('restarted work gets at most a fixed multiple of its time', (t) => {
  let runs = 0;
  const startedAt = performance.now();
  const work = () => {
    runs += 1;
    return sleep(1_000);
  };
  t.is(withinProcessorTime(20, work, { patience: 4 }), undefined);
  t.is(runs, 2);
  t.true(performance.now() - startedAt < 500);
});

test.serial('work that may not be restarted ends after its time', (t) => {
  const startedAt = performance.now();
  t.is(
    withinProcessorTime(20, () => sleep(300), { patience: 0 }),
    undefined,
  );
  t.true(performance.now() - startedAt < 250);
});

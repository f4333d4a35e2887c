import test from 'ava';
import { sideBySide } from './side-by-side.ts';

async function untilAborted(signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
  signal.throwIfAborted();
}

test('all work starts at once, and results are yielded as they complete', async (t) => {
  const ends = [1, 2, 3].map(() => Promise.withResolvers<string>());
  const begun: number[] = [];
  const results = sideBySide(
    [0, 1, 2],
    (work) => {
      begun.push(work);
      return ends[work]?.promise ?? Promise.reject(new Error('none'));
    },
    new AbortController().signal,
  );
  const first = results.next();
  t.deepEqual(begun, [0, 1, 2]);
  ends[2]?.resolve('c');
  t.deepEqual((await first).value, [2, 'c']);
  ends[0]?.resolve('a');
  t.deepEqual((await results.next()).value, [0, 'a']);
  ends[1]?.resolve('b');
  t.deepEqual((await results.next()).value, [1, 'b']);
  t.true((await results.next()).done);
});

test('ending the iteration early aborts the running work and handles its rejections', async (t) => {
  const signals: AbortSignal[] = [];
  const begin = (work: number, signal: AbortSignal) => {
    signals.push(signal);
    return work === 0 ? Promise.resolve() : untilAborted(signal);
  };
  for await (const [work] of sideBySide([0, 1, 2], begin, new AbortController().signal)) {
    t.is(work, 0);
    t.false(signals.some(({ aborted }) => aborted));
    break;
  }
  t.true(signals.every(({ aborted }) => aborted));
});

test('the signal of all aborts all, and its reason is thrown', async (t) => {
  const all = new AbortController();
  const reason = new Error('interrupted');
  const next = sideBySide([0, 1], (_, signal) => untilAborted(signal), all.signal).next();
  all.abort(reason);
  t.is(await t.throwsAsync(next), reason);
});

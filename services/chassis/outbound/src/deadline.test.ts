import test from 'ava';
import { deadline } from './deadline.ts';

/** Counts the process's timers, because a forgotten timer would keep the process alive and retain memory. */
const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

test.serial('a disconnect aborts the deadline, even if the body is not read', (t) => {
  const before = timers();
  const left = new AbortController();
  const reason = new Error('left');
  const { signal } = deadline({ timeoutMs: 60_000, idleMs: 30_000, signal: left.signal });
  t.is(timers(), before + 2);
  left.abort(reason);
  t.is(signal.reason, reason);
  t.is(timers(), before);
});

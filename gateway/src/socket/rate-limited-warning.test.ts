import { mock } from 'node:test';
import test from 'ava';
import { rateLimitedWarning } from './rate-limited-warning.ts';

test.serial('the first warning is logged at once, later ones every 30 seconds with their count', (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const lines: unknown[] = [];
  const warn = rateLimitedWarning({ warn: (facts: object) => void lines.push(facts) } as never, 'away');
  for (let n = 1; n <= 100; n += 1) warn(n);
  t.deepEqual(lines, [{ err: 1, count: 1 }]);
  mock.timers.tick(30_000);
  t.deepEqual(lines.slice(1), [{ err: 100, count: 99 }]);
  mock.timers.tick(60_000);
  t.is(lines.length, 2, 'nothing came up since');
  warn(101);
  t.deepEqual(lines.slice(2), [{ err: 101, count: 1 }]);
});

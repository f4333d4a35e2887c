import test from 'ava';
import { retryAfterMs } from './retry-after.ts';

const now = Date.parse('2026-01-02T03:04:05Z');

test('Retry-After is a number of seconds or a date', (t) => {
  t.is(retryAfterMs('2', now), 2_000);
  t.is(retryAfterMs(' 1.5 ', now), 1_500);
  t.is(retryAfterMs('0', now), 0);
  t.is(retryAfterMs('Fri, 02 Jan 2026 03:04:35 GMT', now), 30_000);
});

test('a wait is never negative and at most ten minutes', (t) => {
  t.is(retryAfterMs('Thu, 01 Jan 2026 00:00:00 GMT', now), 0);
  t.is(retryAfterMs('99999999999', now), 600_000);
  t.is(retryAfterMs('Fri, 02 Jan 2099 00:00:00 GMT', now), 600_000);
});

test('a value that is neither a number nor a date requests no wait', (t) => {
  for (const header of [undefined, '', '  ', 'soon', '-1s', '-5', ' -0.5', 'NaN', '1e9x'])
    t.is(retryAfterMs(header, now), undefined);
});

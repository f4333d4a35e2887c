import test from 'ava';
import { backoff } from './backoff.ts';

test('the pause doubles with each failure up to the longest one', (t) => {
  const pauseAfter = backoff({ firstMs: 100, maxMs: 1_000 });
  t.deepEqual([1, 2, 3, 4, 5, 6, 2_000].map(pauseAfter), [100, 200, 400, 800, 1_000, 1_000, 1_000]);
});

test('a pause that is shortened at random is at least half as long', (t) => {
  const pausesWith = (random: number) =>
    [1, 2, 9].map(backoff({ firstMs: 100, maxMs: 1_000, jitter: true, random: () => random }));
  t.deepEqual(pausesWith(0), [50, 100, 500]);
  t.deepEqual(pausesWith(0.5), [75, 150, 750]);
  t.deepEqual(pausesWith(1), [100, 200, 1_000]);
});

test('a pause of 0 stays 0, however many failures there were', (t) => {
  t.is(backoff({ firstMs: 0, maxMs: 1_000 })(5_000), 0);
});

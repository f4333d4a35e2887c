import test from 'ava';
import { leaseTimes, soleOwnerSearchMs } from './lease-times.ts';

test('lease and search interval together stay below the take-over time', (t) => {
  for (const takeOverMs of [300, 2_000, 5_000, 30_000, 600_000]) {
    const { leaseMs, searchIntervalMs } = leaseTimes(takeOverMs);
    t.true(leaseMs + 1.25 * searchIntervalMs < takeOverMs, `${takeOverMs}`);
    t.true(leaseMs >= 0.8 * takeOverMs, `${takeOverMs}`);
  }
  t.deepEqual(leaseTimes(30_000), { leaseMs: 26_625, searchIntervalMs: 1_500 });
});

test('a given interval is used, and one longer than the take-over time does not shorten the lease', (t) => {
  t.deepEqual(leaseTimes(20_000, 400), { leaseMs: 18_500, searchIntervalMs: 400 });
  t.deepEqual(leaseTimes(30_000, soleOwnerSearchMs), { leaseMs: 16_000, searchIntervalMs: 10_000 });
  t.deepEqual(leaseTimes(20_000, 3_600_000), { leaseMs: 20_000, searchIntervalMs: 3_600_000 });
  t.deepEqual(leaseTimes(1_000, 900), { leaseMs: 500, searchIntervalMs: 900 });
});

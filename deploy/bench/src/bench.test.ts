import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '@parley/servers/root';
import test from 'ava';
import { cpuOf } from './costs.ts';
import { median, quantile, table } from './figures.ts';

/** Runs `scripts/bench` in its own process. */
const bench = (...args: string[]) =>
  promisify(execFile)(process.execPath, [join(root, 'scripts/src/bench.ts'), ...args]);

test('quantiles are values that were measured', (t) => {
  const values = [5, 1, 4, 2, 3];

  t.is(median(values), 3);
  t.is(quantile(values, 0.99), 5);
  t.is(quantile(values, 0), 1);
  t.is(quantile([7], 0.99), 7);
  t.throws(() => median([]), { instanceOf: RangeError });
});

test('the table says which figures fall short', (t) => {
  const figures = [
    { name: 'quick', value: 1.04, unit: 'ms', goal: 6 },
    { name: 'slow', value: 10.06, unit: 's', goal: 10 },
    { name: 'only', value: 583.4, unit: 'MB' },
    { name: 'tiny', value: 0.0123, unit: 'ms', goal: 0.3 },
    { name: 'more', value: 1.458, unit: '×', atLeast: 1.5 },
  ] as const;

  t.deepEqual(table(figures).split('\n'), [
    '       measured     goal  within',
    'quick    1.0 ms     6 ms     yes',
    'slow     10.1 s     10 s      NO',
    'only     583 MB',
    'tiny   0.012 ms   0.3 ms     yes',
    'more     1.46 ×  ≥ 1.5 ×      NO',
    '',
  ]);
});

test('the CPU time of a process is that of its threads and its ended children', (t) => {
  const read = () => cpuOf([{ name: 'test', pid: process.pid }]).CPU ?? Number.NaN;
  const before = read();
  spawnSync(process.execPath, ['-e', 'while (process.cpuUsage().user < 150_000) for (let n = 0; n < 1e6; n += 1);']);
  t.true(read() - before >= 140);
});

test('a part that the bench does not know is refused before anything is measured', async (t) => {
  const error = await t.throwsAsync<Error & { code?: number; stderr?: string }>(bench('--only', 'everything'));
  t.is(error?.code, 2);
  t.regex(error?.stderr ?? '', /one of local, logins, gateway, mesh, models/u);
});

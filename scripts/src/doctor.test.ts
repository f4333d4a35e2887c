import { everySetting } from '@parley/doctor/testing/every-setting';
import test from 'ava';
import { startChild } from './testing/child.ts';

const { TEST_REDIS_URL: redisUrl = '' } = process.env;
const redisTest = redisUrl || process.env.CI ? test : test.skip; // CI always has every engine

/** Returns the settings as environment variables for a child process. */
function environment(change: Record<string, string>): Record<string, string> {
  const given = Object.entries(everySetting('127.0.0.1:1')).flatMap(([name, value]) => (value ? [[name, value]] : []));
  return { ...Object.fromEntries(given), ...change };
}

redisTest('the command exits with 0 if there are no problems, and lists what it has checked', async (t) => {
  const child = startChild(t, 'doctor', {
    args: ['--unit', 'gateway'],
    env: environment({ NODE_ENV: '', REDIS_URL: redisUrl }),
  });
  t.is(await child.ended, 0, child.stdout + child.stderr);
  t.regex(child.stdout, /^Settings\n {2}ok .*\n\nRedis\n(?: {2}ok .*\n)+\n0 wrong, 0 to look at, \d in order\n$/u);
});

import { startSilentServer } from '@parley/testing/silent-server';
import { units } from '@parley/units';
import test from 'ava';
import { diagnose } from './diagnose.ts';
import { exitCode, report } from './report.ts';
import { everySetting, password } from './testing/every-setting.ts';

const engines = ['postgres', 'redis', 'kafka', 's3', 'mail'];

async function findings(at: string, patienceMs: number) {
  const outcomes = await diagnose({ env: everySetting(at), units, allUnits: units, now: Date.now, patienceMs });
  return { outcomes, checks: outcomes.filter(({ level }) => level !== 'ok').map(({ check }) => check) };
}

test('an engine that is down is one finding, however many units need it, and no password is printed', async (t) => {
  const { outcomes, checks } = await findings('127.0.0.1:1', 60_000);
  t.deepEqual(
    checks,
    engines.map((engine) => `${engine}.refused`),
  );
  t.is(exitCode(outcomes), 1);
  const database = outcomes.find(({ check }) => check === 'postgres.refused');
  t.deepEqual(database?.settings, ['DATABASE_URL', 'MIGRATIONS_DATABASE_URL']);
  t.notRegex(JSON.stringify(outcomes) + report(outcomes), new RegExp(password, 'u'));
});

test('an engine that accepts connections and never answers is found, too', async (t) => {
  const silent = await startSilentServer();
  t.teardown(() => silent.stop());
  const { checks } = await findings(new URL(silent.url).host, 1_000);
  t.deepEqual(checks, ['postgres.silent', 'redis.silent', 'kafka.protocol', 's3.silent', 'mail.silent']);
});

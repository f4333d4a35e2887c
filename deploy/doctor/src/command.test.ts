import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { emptyFolder } from '@parley/servers/testing/folder';
import test, { type ExecutionContext } from 'ava';
import { doctorCommand } from './command.ts';
import { everySetting, password } from './testing/every-setting.ts';

/** Runs the command and returns its output and exit code. */
async function run(env: Record<string, string | undefined>, args: Parameters<typeof doctorCommand>[0]) {
  const written = { stdout: '', stderr: '' };
  const write = (name: keyof typeof written) => ({ write: (text: string) => Boolean((written[name] += text)) });
  const terminal = { stdout: write('stdout'), stderr: write('stderr') } as unknown as typeof process;
  return { code: await doctorCommand(args, env, terminal), ...written };
}

function installation(t: ExecutionContext, content: object): string {
  const file = join(emptyFolder(t), 'installation.json');
  writeFileSync(file, JSON.stringify(content));
  return file;
}

test('the command ends with 1 where something is wrong, and lists it for programs', async (t) => {
  const { code, stdout, stderr } = await run(everySetting('127.0.0.1:1'), { unit: ['gateway'], json: true });
  t.is(code, 1);
  const outcomes: { level: string; check: string }[] = JSON.parse(stdout);
  t.deepEqual(
    outcomes.filter(({ level }) => level === 'wrong').map(({ check }) => check),
    ['redis.refused'],
  );
  t.notRegex(stdout + stderr, new RegExp(password, 'u'));
});

test('settings of a unit come from the installation, secrets from the environment', async (t) => {
  const { CORS_ORIGINS, PARLEY_PUBLIC_URL, NODE_ENV: _, ...env } = everySetting('127.0.0.1:1');
  const file = (origins: string) =>
    installation(t, {
      gateway: { processes: 3, env: { CORS_ORIGINS: origins, PARLEY_PUBLIC_URL } },
      session: { processes: 3, env: { LOG_LEVEL: 'loud' } },
    });
  const checksOf = async (args: Parameters<typeof doctorCommand>[0]) => {
    const outcomes: { level: string; check: string; found: string }[] = JSON.parse(
      (await run(env, { ...args, json: true })).stdout,
    );
    return outcomes
      .filter(({ level, check }) => level !== 'ok' && check.startsWith('settings.'))
      .map(({ found }) => found);
  };
  t.deepEqual(await checksOf({ unit: ['gateway'], installation: file(CORS_ORIGINS ?? '') }), []);
  t.deepEqual(await checksOf({ unit: ['gateway'], installation: file('*') }), [
    'CORS_ORIGINS lets pages of any origin call the gateway',
  ]);
  const [found = ''] = await checksOf({ unit: ['session'], installation: file('*') });
  t.regex(found, /^LOG_LEVEL .*\(session\)$/u);
});

test('a unit with an engine of its own has that checked, beside the one of the others', async (t) => {
  const brokers = (broker: string) => ({ processes: 1, env: { KAFKA_BROKERS: broker } });
  const file = installation(t, { session: brokers('127.0.0.1:1'), evaluation: brokers('127.0.0.1:2') });
  const { stdout } = await run({}, { unit: ['session', 'evaluation'], installation: file });
  for (const broker of ['127.0.0.1:1', '127.0.0.1:2']) t.true(stdout.includes(`${broker} `), stdout);
});

test('what is no installation, and an unknown unit, are refused', async (t) => {
  const file = installation(t, { gateway: { env: {} } });
  await t.throwsAsync(run({}, { installation: file }), { message: /is no installation: for each unit/u });
  const { code, stderr } = await run({}, { unit: ['gatway'] });
  t.is(code, 2);
  t.regex(stderr, /There is no unit gatway, but identity/u);
});

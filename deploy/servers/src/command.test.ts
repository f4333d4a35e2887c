import { execFileSync, spawn } from 'node:child_process';
import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '@parley/chassis/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { root } from './root.ts';
import { findProcess } from './server-process.ts';
import { emptyFolder } from './testing/folder.ts';
import { serverTest } from './testing/server-test.ts';

const settings = /^(DATABASE_URL|REDIS_URL|KAFKA_BROKERS|S3_|PARLEY_)/;

/** `scripts/servers` on a data folder of its own; whatever it leaves running is stopped after the test. */
function command(t: ExecutionContext) {
  const folder = emptyFolder(t);
  const inherited = Object.entries(process.env).filter(([name]) => !settings.test(name));
  const environment = { ...Object.fromEntries(inherited), PARLEY_SERVERS_DIR: folder };

  function start(args: string[], env: NodeJS.ProcessEnv = {}) {
    const program = join(root, 'scripts/src/servers.ts');
    const child = spawn(process.execPath, [program, ...args], { env: { ...environment, ...env } });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    const ended = new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) => {
      child.on('close', (code) => resolve({ code, stdout, stderr }));
    });
    return { child, ended };
  }
  t.teardown(() => start(['down']).ended);
  return { folder, start, run: (args: string[], env?: NodeJS.ProcessEnv) => start(args, env).ended };
}

test('what cannot be understood is refused with exit code 2', async (t) => {
  const { run } = command(t);
  for (const args of [[], ['upp'], ['up', 'redis'], ['up', '--only', 'mysql'], ['up', '--fast']]) {
    const { code, stderr } = await run(args);
    t.is(code, 2, args.join(' '));
    t.regex(stderr, /scripts\/servers up|unknown|Unknown/);
  }
  t.is((await run(['--help'])).code, 0);
});

test('an engine that the environment names is used as it is, and nothing is started for it', async (t) => {
  const { run, folder } = command(t);
  const env = { DATABASE_URL: "postgres://there/it's", S3_ENDPOINT: 'https://s3.example.com', S3_BUCKET: 'theirs' };
  const args = ['--only', 'postgres,s3'];
  t.like(await run(['up', ...args, '--require', 'all'], env), { code: 3 }); // the other two were not asked to start
  t.like(await run(['up', ...args, '--require', 'postgres,s3'], env), { code: 0 });
  t.is((await run(['status', ...args], env)).code, 0);
  const { stdout } = await run(['env', '--json', ...args], env);
  t.deepEqual(JSON.parse(stdout), env);
  t.false(existsSync(join(folder, 'state.json')));
});

test('what this machine cannot have is left out with the reason, and only --require makes that a failure', async (t) => {
  const { run } = command(t);
  const tools = emptyFolder(t);
  for (const tool of ['sh', 'cat', 'flock']) {
    symlinkSync(execFileSync('sh', ['-c', `command -v ${tool}`], { encoding: 'utf8' }).trim(), join(tools, tool));
  }
  const without = await run(['up', '--only', 'kafka'], { PATH: tools });
  t.is(without.code, 0);
  t.regex(without.stderr, /Kafka: left out, there is no Java/);
  t.is((await run(['up', '--only', 'kafka', '--require', 'all'], { PATH: tools })).code, 3);
});

serverTest(['redis'], 'up, down and reset keep the address; only reset deletes', async (t) => {
  const { run, folder } = command(t);
  const only = ['--only', 'redis'];
  const env = async () => JSON.parse((await run(['env', '--json', ...only])).stdout).REDIS_URL;
  t.is((await run(['status', ...only])).code, 1);
  t.is((await run(['up', ...only])).code, 0);
  const pid = findProcess(join(folder, 'redis'));
  const url = await env();
  t.regex(url, /^redis:\/\/parley:\w+@127\.0\.0\.1:\d+$/);

  t.is((await run(['up', ...only])).code, 0);
  t.is(findProcess(join(folder, 'redis')), pid, 'a server that is up stays');
  const { code, stdout } = await run(['status', ...only]);
  t.is(code, 0);
  t.true(stdout.includes(String(pid)) && stdout.includes(join(folder, 'redis')));

  t.is((await run(['down', ...only])).code, 0);
  t.is(findProcess(join(folder, 'redis')), undefined);
  t.true(existsSync(join(folder, 'redis/data')));
  t.is((await run(['env', ...only])).code, 1);

  t.is((await run(['up', ...only])).code, 0);
  t.is(await env(), url);
  t.is((await run(['reset', ...only])).code, 0);
  t.false(existsSync(join(folder, 'redis')));
  t.is((await run(['status', ...only])).code, 1);
});

serverTest(['redis'], 'a shell that evaluated the settings still speaks of our server, not of another', async (t) => {
  const { run, folder } = command(t);
  await run(['up', '--only', 'redis']);
  const { stdout } = await run(['env', '--only', 'redis']);
  const REDIS_URL = execFileSync('sh', ['-c', `${stdout}\nprintf %s "$REDIS_URL"`], { encoding: 'utf8' });

  t.regex((await run(['status', '--only', 'redis'], { REDIS_URL })).stdout, / up /);
  await run(['down', '--only', 'redis'], { REDIS_URL });
  t.is(findProcess(join(folder, 'redis')), undefined);
  await run(['up', '--only', 'redis'], { REDIS_URL });
  t.not(findProcess(join(folder, 'redis')), undefined);
});

serverTest(['redis'], 'two calls at once start one server', async (t) => {
  const { run } = command(t);
  const calls = await Promise.all([run(['up', '--only', 'redis']), run(['up', '--only', 'redis'])]);
  t.deepEqual(
    calls.map(({ code }) => code),
    [0, 0],
  );
  t.is(calls.filter(({ stderr }) => stderr.includes('started in')).length, 1);
});

serverTest(['kafka'], 'Ctrl-C while a server starts leaves no process, and the next start goes well', async (t) => {
  const { start, run, folder } = command(t);
  const { child, ended } = start(['up', '--only', 'kafka']);
  const pid = await eventually('its process is there', () => findProcess(join(folder, 'kafka')), { timeoutMs: 30_000 });
  child.kill('SIGINT');
  t.is((await ended).code, 130);
  t.false(existsSync(`/proc/${pid}`));
  t.is((await run(['up', '--only', 'kafka'])).code, 0);
});

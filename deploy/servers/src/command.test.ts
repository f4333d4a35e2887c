import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { eventually } from '@parley/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { down, type FleetOptions, settingsOf, status, up } from './fleet.ts';
import { foldersOf } from './folders.ts';
import { isFree } from './ports.ts';
import { root } from './root.ts';
import { findProcess } from './server.ts';
import { emptyFolder, unabortedSignal } from './testing/folder.ts';
import { serverTest } from './testing/server-test.ts';

/** Returns a function that runs `scripts/servers` on its own data folder. Servers that are still running are stopped after the test. */
function command(t: ExecutionContext) {
  const folder = emptyFolder(t);
  async function run(args: string[], env: NodeJS.ProcessEnv = {}, meanwhile = async (_child: ChildProcess) => {}) {
    const program = join(root, 'scripts/src/servers.ts');
    const own = { PATH: process.env.PATH, PARLEY_SERVERS_DIR: folder, ...env };
    const child = spawn(process.execPath, [program, ...args], { env: own, stdio: ['ignore', 'pipe', 'pipe'] });
    const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
    const done = [text(child.stdout), text(child.stderr), ended, meanwhile(child)] as const;
    const [stdout, stderr, code] = await Promise.all(done);
    return { code, stdout, stderr };
  }
  return { folder, run };
}

test('what cannot be understood is refused with exit code 2', async (t) => {
  const { run } = command(t);
  t.like(await run(['up', '--only', 'mysql']), {
    code: 2,
    stderr: 'mysql: unknown; known are postgres, redis, kafka, s3\n',
  });
  t.like(await run(['up', '--fast']), { code: 2 });
});

test('an engine that the environment names is used as it is, and nothing is started for it', async (t) => {
  const { run, folder } = command(t);
  const env = { DATABASE_URL: "postgres://there/it's", S3_ENDPOINT: 'https://s3.example.com', S3_BUCKET: 'theirs' };
  const only = ['--only', 'postgres,s3'];
  t.like(await run(['up', ...only], env), { code: 0 });
  const { stdout } = await run(['env', ...only], env);
  const printed = 'printf "%s %s %s" "$DATABASE_URL" "$S3_ENDPOINT" "$S3_BUCKET"';
  t.is(execFileSync('sh', ['-c', `${stdout}\n${printed}`], { encoding: 'utf8' }), Object.values(env).join(' '));
  t.false(existsSync(join(folder, 'postgres')));
});

test('Ctrl-C ends a start with exit code 130, and leaves no process', async (t) => {
  const { run } = command(t);
  const tools = emptyFolder(t);
  const file = join(tools, 'pid');
  // Replaces flock, through which every installation and start runs.
  const script = `#!/bin/sh\necho $$ >${file}.new\nmv ${file}.new ${file}\nexec sleep 300\n`;
  writeFileSync(join(tools, 'flock'), script, { mode: 0o755 });
  let pid = 0;
  const cut = await run(['up', '--only', 'redis'], { PATH: `${tools}:${process.env.PATH}` }, async (child) => {
    pid = Number(await eventually('it starts', () => existsSync(file) && readFileSync(file, 'utf8')));
    child.kill('SIGINT');
  });
  t.is(cut.code, 130);
  t.regex(cut.stderr, /SIGINT: nothing is left half done\n$/u);
  t.false(existsSync(`/proc/${pid}/exe`));
});

test('what this machine cannot have is left out with the reason, which is no failure', async (t) => {
  const { run } = command(t);
  const PATH = emptyFolder(t);
  for (const tool of ['sh', 'flock', 'setpriv', 'dirname', 'id', 'rm', 'mkdir', 'cut', 'mv', 'sed']) {
    symlinkSync(execFileSync('sh', ['-c', `command -v ${tool}`], { encoding: 'utf8' }).trim(), join(PATH, tool));
  }
  const without = await run(['up', '--only', 'kafka'], { PATH });
  t.is(without.code, 0);
  t.regex(without.stderr, /Kafka: left out, there is no Java 17 or newer\n/);
});

serverTest(['redis'], 'up, down and reset keep the address, and only reset deletes', async (t) => {
  const { run, folder } = command(t);
  const only = ['--only', 'redis'];
  const home = join(folder, 'redis');
  const options = (env: NodeJS.ProcessEnv = {}): FleetOptions => ({
    folders: { ...foldersOf(process.env), data: folder },
    env,
    only: ['redis'],
    signal: unabortedSignal,
    say: () => undefined,
  });
  t.teardown(() => down(options()));
  t.like(await run(['up', ...only]), { code: 0 });
  const pid = findProcess(home);
  const { stdout } = await run(['env', ...only]);
  const REDIS_URL = execFileSync('sh', ['-c', `${stdout}\nprintf %s "$REDIS_URL"`], { encoding: 'utf8' });
  t.regex(REDIS_URL, /^redis:\/\/parley:\w+@127\.0\.0\.1:\d+$/);

  // Settings that a shell has evaluated refer to our server, not to another one.
  t.like((await up(options({ REDIS_URL })))[0], { state: 'up', pid }, 'a server that is up stays');
  const shown = await run(['status', ...only], { REDIS_URL });
  t.is(shown.code, 0);
  t.true(shown.stdout.includes(`process ${pid}, in ${home}`));

  t.is((await down(options({ REDIS_URL }))).length, 1);
  t.is(findProcess(home), undefined);
  t.true(existsSync(join(home, 'data')));
  t.like(await run(['env', ...only]), { code: 1, stdout: '' });
  t.deepEqual(settingsOf(await up(options()), {}), { REDIS_URL });
  t.is((await run(['reset', ...only])).code, 0);
  t.false(existsSync(home));
  t.like(await status(options()), [{ state: 'down' }]);
  t.deepEqual(settingsOf(await status(options()), {}), {});
});

serverTest(
  ['postgres', 'redis', 'kafka', 's3'],
  'servers listen on the address that they are given, and only there',
  async (t) => {
    t.timeout(120_000);
    const options = (host: string): FleetOptions => ({
      folders: { ...foldersOf(process.env), data: folder },
      env: {},
      only: ['postgres', 'redis', 'kafka', 's3'],
      signal: unabortedSignal,
      say: () => undefined,
      host,
    });
    const folder = emptyFolder(t);
    t.teardown(() => down(options('127.0.0.2')));
    // `up` has sent a request to each server at 127.0.0.2.
    const servers = await up(options('127.0.0.2'));
    for (const server of servers) {
      if (server.state !== 'up') {
        t.fail(server.note);
        continue;
      }
      const { main } = server.place.ports;
      t.true(server.engine.settings(server.place)[server.engine.setting]?.includes(`127.0.0.2:${main}`));
      t.true(await isFree(main, '127.0.0.1'), `${server.engine.title} listens there alone`);
    }
    const [moved] = await up(options('127.0.0.1'));
    t.like(moved, { state: 'failed' }, 'a server that runs does not move');
    t.regex(moved?.note ?? '', /it listens on 127\.0\.0\.2, not on 127\.0\.0\.1: stop it first/u);
    t.like(
      await status(options('127.0.0.1')),
      servers.map(() => ({ state: 'up' })),
      'and is found where it is',
    );
  },
);

test("a folder that holds another program's file is refused by the file's path, and nothing in it is touched", async (t) => {
  const { run, folder } = command(t);
  const file = join(folder, 'redis.json');
  const beside = join(folder, 'redis/dump.rdb');
  mkdirSync(join(folder, 'redis'));
  writeFileSync(beside, 'data');
  const stderr = `${file} is not of scripts/servers: PARLEY_SERVERS_DIR is to be a folder of its own\n`;
  writeFileSync(file, '{"port":6379}');
  t.like(await run(['reset', '--only', 'redis']), { code: 1, stderr });
  const options = {
    folders: { data: folder, tools: folder },
    env: {},
    only: ['redis' as const],
    signal: unabortedSignal,
    say() {},
  };
  const ports = { main: 6379, second: 6380 };
  for (const text of ['', 'null', JSON.stringify({ ports, password: 'theirs', superuserPassword: 'theirs' })]) {
    writeFileSync(file, text);
    await t.throwsAsync(up(options), { message: stderr.trim() }, text);
    await t.throwsAsync(down(options, { clear: true }), { message: stderr.trim() }, text);
  }
  t.true(existsSync(beside));
});

test('on another system than Linux each server is left out with the reason, and what is configured is used', async (t) => {
  const folder = emptyFolder(t);
  const said: string[] = [];
  const options: FleetOptions = {
    folders: { data: join(folder, 'data'), tools: join(folder, 'tools') },
    env: { REDIS_URL: 'redis://redis.example:6379' },
    only: ['postgres', 'redis'],
    signal: unabortedSignal,
    say: (line) => said.push(line),
    platform: 'darwin',
  };
  const servers = await up(options);
  t.deepEqual(
    servers.map(({ state }) => state),
    ['unavailable', 'configured'],
  );
  t.true(said.includes('PostgreSQL: left out, this system is not Linux'));
  t.deepEqual(settingsOf(servers, options.env), { ...options.env });
  t.deepEqual(
    (await status(options)).map(({ state }) => state),
    ['down', 'configured'],
  );
  t.deepEqual(await down(options), []);
});

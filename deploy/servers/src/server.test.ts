import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { eventually } from '@parley/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { UnavailableError } from './exec.ts';
import { ensurePlace, findPlace } from './place.ts';
import { freePorts, isFree } from './ports.ts';
import { findProcess, startServer, stopServer } from './server.ts';
import { fakeEngine } from './testing/fake-engine.ts';
import { emptyFolder, unabortedSignal } from './testing/folder.ts';

const options = { signal: unabortedSignal, endWithParent: false, disposable: false };

/** Makes a server of a fake engine. The server is stopped after the test. */
async function fake(t: ExecutionContext, start?: string) {
  const folder = emptyFolder(t);
  const engine = fakeEngine(folder, { ...(start && { start }) });
  const place = await ensurePlace(engine, { data: join(folder, 'data'), tools: join(folder, 'tools') });
  t.teardown(() => stopServer(place.home, 'SIGKILL'));
  return { engine, place, home: place.home };
}

async function occupy(t: ExecutionContext, port: number): Promise<void> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
}

test('a server is found by its record until it is stopped', async (t) => {
  const { engine, place, home } = await fake(t);
  const pid = await startServer(engine, place, options);
  t.is(findProcess(home), pid);
  await eventually('it is the server', () => readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('sleep'));
  t.true(await stopServer(home, 'SIGTERM'));
  t.is(findProcess(home), undefined);
  await eventually('it is gone', () => !existsSync(`/proc/${pid}/exe`));
  t.false(await stopServer(home, 'SIGTERM'));
});

test('a process that has the pid of a dead server is neither found nor stopped', async (t) => {
  const { engine, place, home } = await fake(t);
  const pid = await startServer(engine, place, options);
  const record = readFileSync(join(home, 'process'), 'utf8');
  const [, boot, ticks, inode] = record.trim().split(' ');
  for (const other of [
    `${pid} ${boot} ${Number(ticks) - 1} ${inode}`,
    `${pid} 0-0 ${ticks} ${inode}`,
    `${pid} ${boot} ${ticks}`,
    `${pid}`,
    '',
    'x y z i',
  ]) {
    writeFileSync(join(home, 'process'), other);
    t.is(findProcess(home), undefined, other);
    t.false(await stopServer(home, 'SIGKILL'));
  }
  t.true(process.kill(pid, 0));
  writeFileSync(join(home, 'process'), record);
});

test('a server is not found in a copy of its folder, nor stopped there', async (t) => {
  const { engine, place, home } = await fake(t);
  const pid = await startServer(engine, place, options);
  const copy = join(home, '../copy');
  cpSync(home, copy, { recursive: true });
  t.is(findProcess(copy), undefined);
  t.false(await stopServer(copy, 'SIGKILL'));
  t.is(findProcess(home), pid);
});

test('two calls at once start one server', async (t) => {
  const { engine, place } = await fake(t, 'echo started >>starts; exec sleep 300');
  const [one, two] = await Promise.all([1, 2].map(() => startServer(engine, place, options)));
  t.is(one, two);
  await eventually('it has started', () => existsSync(join(place.home, 'starts')));
  t.is(readFileSync(join(place.home, 'starts'), 'utf8'), 'started\n');
});

test('a server waits until the one before it and its children are gone from the folder', async (t) => {
  // After the parent was killed, its child still holds the lock.
  const { engine, place, home } = await fake(
    t,
    '[ -e child ] || { sleep 300 & echo $! >child.new; mv child.new child; }; exec sleep 300',
  );
  const first = await startServer(engine, place, options);
  const child = Number(
    await eventually(
      'it has a child',
      () => existsSync(join(home, 'child')) && readFileSync(join(home, 'child'), 'utf8'),
    ),
  );
  process.kill(first, 'SIGKILL');
  await eventually('it is gone', () => findProcess(home) === undefined);
  let second: number | undefined;
  const starting = startServer(engine, place, options).then((pid) => (second = pid));
  await t.throwsAsync(eventually('a second one runs beside the child', () => second, { timeoutMs: 200 }));
  process.kill(child, 'SIGKILL');
  const pid = await starting;
  t.is(findProcess(home), pid);
});

test('a child that outlives its stopped server is killed, because it holds the lock', async (t) => {
  // The child ignores SIGTERM, and is no longer in the server's process group.
  const { engine, place, home } = await fake(
    t,
    `trap '' TERM; setsid sleep 300 & echo $! >child.new; mv child.new child; trap - TERM; exec sleep 300`,
  );
  await startServer(engine, place, options);
  const child = await eventually(
    'it has a child',
    () => existsSync(join(home, 'child')) && readFileSync(join(home, 'child'), 'utf8').trim(),
  );
  t.teardown(() => existsSync(`/proc/${child}/exe`) && process.kill(Number(child), 'SIGKILL'));
  t.true(await stopServer(home, 'SIGTERM', 1));
  t.false(existsSync(`/proc/${child}/exe`));
});

test('a process that only waits for the lock of a server is not killed with the server', async (t) => {
  const { engine, place, home } = await fake(t, `trap '' TERM; while :; do sleep 0.1; done`);
  await startServer(engine, place, options);
  const waiting = spawn('flock', ['lock', 'true'], { cwd: home, stdio: 'ignore' });
  const ended = once(waiting, 'exit');
  await eventually('it waits', () =>
    readFileSync('/proc/locks', 'utf8').includes(`FLOCK  ADVISORY  WRITE ${waiting.pid} `),
  );
  t.true(await stopServer(home, 'SIGTERM', 1));
  t.deepEqual(await ended, [0, null]);
});

test('the last lines of the log say why a server ended, or what this machine lacks', async (t) => {
  const taken = await fake(t, 'echo the port is taken >&2; exit 4');
  taken.engine.ask = () => Promise.reject(new Error('not yet'));
  await t.throwsAsync(startServer(taken.engine, taken.place, options), {
    message: 'it ended with 4\nthe port is taken',
  });
  const lacking = await fake(t, "unavailable 'there is no Java'");
  lacking.engine.ask = taken.engine.ask;
  await t.throwsAsync(startServer(lacking.engine, lacking.place, options), {
    instanceOf: UnavailableError,
    message: 'there is no Java',
  });
});

test('an interrupted start leaves no process', async (t) => {
  const { engine, place, home } = await fake(t);
  engine.ask = () => Promise.reject(new Error('not yet'));
  const interruption = new AbortController();
  const starting = startServer(engine, place, { ...options, signal: interruption.signal });
  const failed = t.throwsAsync(starting, { message: 'interrupted' });
  const pid = await eventually('its process is there', () => findProcess(home));
  interruption.abort(new Error('interrupted'));
  await failed;
  t.is(findProcess(home), undefined);
  await eventually('it is gone', () => !existsSync(`/proc/${pid}/exe`));
});

test('a server inherits only PATH and JAVA_HOME, and gets a locale and its own variables', async (t) => {
  const { engine, place, home } = await fake(t, 'env >given; exec sleep 300');
  await startServer(engine, place, options);
  const given = await eventually(
    'it has written its environment',
    () => existsSync(join(home, 'given')) && readFileSync(join(home, 'given'), 'utf8'),
  );
  const own = [
    'HOME',
    'HOST',
    'INSTALLED',
    'PASSWORD',
    'PORT',
    'SCRIPTS',
    'SECOND_PORT',
    'SUPERUSER_PASSWORD',
    'TIE',
    'DISPOSABLE',
  ];
  const allowed = new Set([...own, 'PATH', 'JAVA_HOME', 'LC_ALL', 'PWD', 'OLDPWD', 'SHLVL', '_']);
  t.deepEqual(
    [...given.matchAll(/^(\w+)=/gm)].filter(([, name = '']) => !allowed.has(name)),
    [],
  );
});

test('a server that is tied to its starter ends with it, even when that is killed', async (t) => {
  const { place, home } = await fake(t);
  const moduleOf = (name: string) => JSON.stringify(new URL(name, import.meta.url).href);
  const program = `
    import { startServer } from ${moduleOf('server.ts')};
    import { fakeEngine } from ${moduleOf('testing/fake-engine.ts')};
    const signal = new AbortController().signal;
    await startServer(fakeEngine(${JSON.stringify(emptyFolder(t))}), ${JSON.stringify(place)}, { signal, endWithParent: true, disposable: true });
    setInterval(() => {}, 1000);
  `;
  const starter = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`));
  const pid = await eventually('a server runs', () => findProcess(home));
  await starter.terminate();
  await eventually('it is gone', () => findProcess(home) === undefined);
  t.false(existsSync(`/proc/${pid}/exe`));
});

test('ports and passwords stay the same, in a file that only its owner can read', async (t) => {
  const folder = emptyFolder(t);
  const folders = { data: join(folder, 'data'), tools: join(folder, 'tools') };
  const engine = fakeEngine(folder);
  t.is(findPlace(engine, folders), undefined);
  const [place, again] = await Promise.all([ensurePlace(engine, folders), ensurePlace(engine, folders)]);
  t.deepEqual(again, place, 'two calls at once');
  t.deepEqual(await ensurePlace(engine, folders), place);
  t.is(statSync(join(folders.data, 'redis.json')).mode & 0o777, 0o600);
  t.is(statSync(folders.data).mode & 0o777, 0o700);
  t.regex(place.password, /^[0-9a-f]{48}$/);
  t.not(place.password, place.superuserPassword);

  await occupy(t, place.ports.main);
  const after = await ensurePlace(engine, folders);
  t.not(after.ports.main, place.ports.main, 'somebody else has taken it');
  t.is(after.password, place.password);
  t.deepEqual(findPlace(engine, folders), after);
  mkdirSync(after.home);
});

test('the second port is free where the server uses it, on the loopback address', async (t) => {
  const folder = emptyFolder(t);
  const folders = { data: join(folder, 'data'), tools: join(folder, 'tools') };
  const engine = fakeEngine(folder);
  const place = await ensurePlace(engine, folders, '127.0.0.2');
  t.deepEqual(await ensurePlace(engine, folders, '127.0.0.2'), place);
  await occupy(t, place.ports.second);
  t.not((await ensurePlace(engine, folders, '127.0.0.2')).ports.second, place.ports.second);
});

test('an address that this machine does not have is refused', async (t) => {
  const folder = emptyFolder(t);
  const folders = { data: join(folder, 'data'), tools: join(folder, 'tools') };
  for (const host of ['0.0.0.0', '300.1.1.1', '192.0.2.1']) {
    const refused = { message: `${host} is no IPv4 address of this machine` };
    await t.throwsAsync(ensurePlace(fakeEngine(folder), folders, host), refused);
    await t.throwsAsync(freePorts(1, host), refused);
  }
});

test('free ports are free and all different', async (t) => {
  const ports = await freePorts(20);
  t.is(new Set(ports).size, 20);
  const [port = 0] = ports;
  t.true(await isFree(port));
  await occupy(t, port);
  t.false(await isFree(port));
});

import { once } from 'node:events';
import { chmodSync, lstatSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { isOpenToAll, makeDataFolder, reachableFolder } from './folders.ts';
import { ensurePlace, findPlace } from './place.ts';
import { freePorts, isFree } from './ports.ts';
import { redis } from './redis.ts';
import { readState, writeState } from './state.ts';
import { emptyFolder } from './testing/folder.ts';

const nobody = { uid: 65534, gid: 65534 };

function folders(t: ExecutionContext) {
  const folder = emptyFolder(t);
  return { data: folder, tools: join(folder, 'tools') };
}

async function occupy(t: ExecutionContext, port: number): Promise<void> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
}

test('free ports are free and all different', async (t) => {
  const ports = await freePorts(20);
  t.is(new Set(ports).size, 20);
  const [port = 0] = ports;
  t.true(await isFree(port));
  await occupy(t, port);
  t.false(await isFree(port));
});

test('ports and passwords stay the same, in a file for its owner alone', async (t) => {
  const at = folders(t);
  t.is(findPlace(redis, at), undefined);
  const place = await ensurePlace(redis, at);
  t.deepEqual(await ensurePlace(redis, at), place);
  t.deepEqual(findPlace(redis, at), place);
  t.is(statSync(join(at.data, 'state.json')).mode & 0o777, 0o600);
  t.is(statSync(place.home).mode & 0o777, 0o700);
});

test('a port that somebody else has taken is given up, the password stays', async (t) => {
  const at = folders(t);
  const before = await ensurePlace(redis, at);
  await occupy(t, before.ports.main ?? 0);
  const after = await ensurePlace(redis, at);
  t.not(after.ports.main, before.ports.main);
  t.deepEqual(after.secrets, before.secrets);
  t.deepEqual(findPlace(redis, at)?.ports, after.ports);
});

test('what is written of one engine leaves the others as they were', (t) => {
  const { data } = folders(t);
  const state = { ports: { main: 1 }, secrets: { password: 'a' }, home: '/a' };
  writeState(data, 'redis', state);
  writeState(data, 's3', { ...state, home: '/b' });
  t.deepEqual(readState(data, 'redis'), state);
  t.is(readState(data, 's3')?.home, '/b');
});

test('a state that cannot be understood is not overwritten, and the error names the file', async (t) => {
  const at = folders(t);
  const file = join(at.data, 'state.json');
  for (const text of ['{"engines": ', '{"engines": {"redis": {"ports": 5}}}']) {
    writeFileSync(file, text);
    await t.throwsAsync(ensurePlace(redis, at), {
      message: `${file} cannot be understood: delete it and the folders beside it to begin anew`,
    });
    t.is(readFileSync(file, 'utf8'), text);
  }
});

test('a folder is open to all when every folder above lets them through', (t) => {
  const folder = emptyFolder(t);
  const inner = join(folder, 'closed/open');
  mkdirSync(inner, { recursive: true });
  t.true(isOpenToAll(inner));
  chmodSync(dirname(inner), 0o700);
  t.false(isOpenToAll(inner));
});

test('the data folder lets other users through to what is theirs, its parent does not', (t) => {
  const folder = join(emptyFolder(t), 'outer/servers');
  makeDataFolder(folder);
  t.is(statSync(folder).mode & 0o777, 0o711);
  t.is(statSync(dirname(folder)).mode & 0o777, 0o700);
});

test('where another user gets through, its folder is beside the others', (t) => {
  const parent = emptyFolder(t);
  t.is(reachableFolder(parent, 'postgres', nobody), join(parent, 'postgres'));
  chmodSync(parent, 0o700);
  t.is(reachableFolder(parent, 'postgres', undefined), join(parent, 'postgres'));
});

test("where another user does not get through, its folder is in the system's, by the path of the closed one", (t) => {
  const [one, two] = [emptyFolder(t), emptyFolder(t)];
  const elsewhere = [one, two].map((parent) => {
    chmodSync(parent, 0o700);
    const folder = reachableFolder(parent, 'postgres', nobody);
    t.teardown(() => rmSync(dirname(folder), { recursive: true, force: true }));
    t.is(reachableFolder(parent, 'postgres', nobody), folder);
    t.is(lstatSync(dirname(folder)).mode & 0o777, 0o711);
    return folder;
  });
  t.not(elsewhere[0], elsewhere[1]);
});

test('a folder in that place that others may write to is refused', (t) => {
  const parent = emptyFolder(t);
  chmodSync(parent, 0o700);
  const shared = dirname(reachableFolder(parent, 'postgres', nobody));
  t.teardown(() => rmSync(shared, { recursive: true, force: true }));
  chmodSync(shared, 0o777);
  t.throws(() => reachableFolder(parent, 'postgres', nobody), { message: /somebody else's/ });
});

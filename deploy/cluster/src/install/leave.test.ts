import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { emptyFolder, unabortedSignal } from '@parley/servers/testing/folder';
import test, { type ExecutionContext } from 'ava';
import { exclusively } from '../lock.ts';
import { leave } from './leave.ts';
import { installLockOf } from './places.ts';

function cluster(t: ExecutionContext) {
  const folder = emptyFolder(t);
  const folders = { tools: join(folder, 'tools'), state: join(folder, 'cluster/run') };
  const said: string[] = [];
  return { folders, said, leave: () => leave(folders, { signal: unabortedSignal, say: (line) => said.push(line) }) };
}

/** Starts a background process that works in this folder. */
async function workIn(t: ExecutionContext, folder: string) {
  mkdirSync(folder, { recursive: true });
  const child = spawn('sleep', ['300'], { cwd: folder, detached: true, stdio: 'ignore' });
  t.teardown(() => child.kill('SIGKILL'));
  await once(child, 'spawn');
  return child;
}

test('processes of an installation whose records are lost or damaged are killed, and no others', async (t) => {
  const { folders, said, leave } = cluster(t);
  const lost = [await workIn(t, join(folders.state, 'install')), await workIn(t, join(folders.state, 'engines/redis'))];
  const other = await workIn(t, join(folders.state, 'install-2'));
  writeFileSync(join(folders.state, 'install/outside.json'), '{"pid":');
  const ended = lost.map((child) => once(child, 'exit'));
  await leave();
  for (const [, by] of await Promise.all(ended)) t.is(by, 'SIGKILL');
  t.deepEqual(said.toSorted(), lost.map(({ pid }) => `process ${pid} had no record, and was killed`).toSorted());
  t.true(process.kill(other.pid ?? 0, 0));
});

test('an installation is not left while it is changed', async (t) => {
  const { folders, leave } = cluster(t);
  let isLeft = false;
  const leaving = await exclusively(installLockOf(folders), unabortedSignal, async () => {
    const promise = leave().then(() => (isLeft = true));
    await delay(200);
    t.false(isLeft);
    return { promise };
  });
  await leaving.promise;
  t.true(isLeft);
});

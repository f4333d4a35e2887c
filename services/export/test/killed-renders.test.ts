// Serial, because each test counts the child processes of this process.
import { readFileSync } from 'node:fs';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { exportMesh } from './export-mesh.ts';
import { conversation } from './samples.ts';

const long = { tenantId: 1, status: 'ACTIVE', evaluation: undefined } as const;

test.serial('an export whose process dies while rendering is finished once by another process', async (t) => {
  const mesh = await exportMesh(t, { EXPORT_LEASE_MS: '3000' });
  mesh.sessions.set(2, { ...long, messages: conversation(10_000) });
  const first = await mesh.replica();
  const { id } = await mesh.request(2);
  await eventually('it renders', renders);
  await first.kill();
  for (const pid of renderers()) process.kill(pid, 'SIGKILL');
  await mesh.replica();
  const ready = await mesh.ended(id);
  t.like(ready, { status: 'READY', errorMessage: undefined });
  t.is(ready.fileSizeBytes, (await mesh.download(ready.downloadUrl)).length);
  t.is((await mesh.files()).length, 1);
});

test.serial('a unit that stops ends its renders, and another process finishes the exports', async (t) => {
  const mesh = await exportMesh(t);
  mesh.sessions.set(2, { ...long, messages: conversation(10_000, ['ما هو المتغير في الجبر؟ '.repeat(20)]) });
  const first = await mesh.replica();
  const { id } = await mesh.request(2);
  await eventually('it renders', renders);
  await first.unit.stop();
  t.deepEqual(renderers(), []);
  await mesh.replica();
  t.is((await mesh.ended(id)).status, 'READY');
});

test.serial('an export that crashes its render process fails after three attempts', async (t) => {
  const mesh = await exportMesh(t);
  mesh.sessions.set(2, { ...long, messages: conversation(10_000) });
  await mesh.replica();
  const { id } = await mesh.request(2);
  const killed = new Set<number>();
  const killer = setInterval(() => {
    for (const pid of renderers().filter((each) => residentMb(each) > 150)) {
      killed.add(pid);
      process.kill(pid, 'SIGKILL');
    }
  }, 20);
  t.teardown(() => clearInterval(killer));
  t.like(await mesh.ended(id), {
    status: 'FAILED',
    errorMessage: 'The document could not be rendered: each attempt ended unexpectedly.',
  });
  t.is(killed.size, 3);
});

const renders = () => renderers().some((pid) => residentMb(pid) > 150);

/** Returns the ids of this process's child processes that render documents. */
function renderers(): number[] {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim();
  return children
    .split(' ')
    .filter((pid) => pid !== '' && fileOf(pid, 'cmdline').includes('renderer-main'))
    .map(Number);
}

function residentMb(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/mu.exec(fileOf(pid, 'status'))?.[1] ?? 0) / 1_024;
}

function fileOf(pid: number | string, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return ''; // the process has ended
  }
}

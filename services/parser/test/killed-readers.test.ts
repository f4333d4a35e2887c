// These tests are serial, because each test counts the child processes of this process.
import { readFileSync } from 'node:fs';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { makePackedBlanks } from './make-bombs.ts';
import { parserMesh } from './parser-mesh.ts';

test.serial('a parser that stops kills the reader, and the document remains for the next parser', async (t) => {
  const mesh = await parserMesh(t, { PARSER_MAX_MEMORY_MB: '4096', PARSER_TIMEOUT_MS: '600000' });
  const first = await mesh.replica();
  const document = await mesh.upload(1, 'pdf', makePackedBlanks());
  await first.eventBus.publish([mesh.uploaded(1)]);
  const isReading = () => readers().find((pid) => residentMb(pid) > 150);
  process.kill(await eventually('it reads', isReading, { timeoutMs: 60_000 }), 'SIGSTOP'); // pauses the reader in the middle of the file
  await first.unit.stop();
  t.deepEqual(readers(), []);
  t.deepEqual([document.text, document.reason], [undefined, undefined]);
  t.is((await mesh.jobs()).length, 1);
});

test.serial('a document that crashes every process that reads it is finally FAILED', async (t) => {
  const mesh = await parserMesh(t, { PARSER_MAX_MEMORY_MB: '4096' });
  const { eventBus } = await mesh.replica();
  const document = await mesh.upload(1, 'pdf', makePackedBlanks());
  await eventBus.publish([mesh.uploaded(1)]);
  const killer = setInterval(() => {
    for (const pid of readers()) if (residentMb(pid) > 150) process.kill(pid, 'SIGKILL'); // at this size, the process is reading a file
  }, 20);
  t.teardown(() => clearInterval(killer));
  t.is((await mesh.ended(1)).reason, 'The file could not be read: each attempt to read it ended unexpectedly.');
  t.is(document.begun, 5);
  await eventually('no job is left', async () => (await mesh.jobs()).length === 0);
});

/** Returns the ids of the reader processes that this process has started. */
function readers(): number[] {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim();
  return children
    .split(' ')
    .filter((pid) => pid !== '' && fileOf(pid, 'cmdline').includes('reader-main'))
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

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unavailable } from '@parley/kernel/errors';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { exportMesh } from './export-mesh.ts';
import { textOf } from './pdf-text.ts';
import { conversation } from './samples.ts';

const dayMs = 24 * 60 * 60 * 1_000;
const fallback = Buffer.from('%PDF-1.7\nThe document of the operator.\n');

async function fileOf(t: { teardown(fn: () => Promise<void>): void }, bytes: Uint8Array): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-fallback-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const file = join(folder, 'fallback.pdf');
  await writeFile(file, bytes);
  return file;
}

test('three failures make an export FAILED, with the reason and without a link', async (t) => {
  const mesh = await exportMesh(t, { EXPORT_TIMEOUT_MS: '1' });
  mesh.sessions.set(2, { tenantId: 1, status: 'ACTIVE', messages: conversation(5_000), evaluation: undefined });
  await mesh.replica();
  const { id } = await mesh.request(2);
  const failed = await mesh.ended(id);
  t.like(failed, {
    status: 'FAILED',
    errorMessage: 'The document could not be rendered: it takes too long.',
    downloadUrl: undefined,
    fileSizeBytes: undefined,
  });
  t.true(mesh.script.transcriptsRead >= 3);
  t.deepEqual([await mesh.jobs(), await mesh.files()], [[], []]);
});

test('a document that is too large even as a short excerpt fails at once, and later without being rendered', async (t) => {
  const mesh = await exportMesh(t, { EXPORT_MAX_BYTES: '1000' });
  await mesh.replica();
  const failure = {
    status: 'FAILED',
    errorMessage: 'The document could not be rendered: its file is too large.',
    downloadUrl: undefined,
    fileSizeBytes: undefined,
  } as const;
  t.like(await mesh.ended((await mesh.request()).id), failure);
  t.is(mesh.script.transcriptsRead, 1);
  const rendered = await mesh.rendered();
  t.true(rendered > 0);
  t.like(await mesh.ended((await mesh.request()).id), failure);
  t.is(mesh.script.transcriptsRead, 2);
  t.is(await mesh.rendered(), rendered);
  t.deepEqual([await mesh.jobs(), await mesh.files()], [[], []]);
});

test('if a document is too large, a shorter excerpt is rendered, which states how many messages are missing', async (t) => {
  const mesh = await exportMesh(t, { EXPORT_MAX_BYTES: '400000' });
  mesh.sessions.set(2, { tenantId: 1, status: 'ACTIVE', messages: conversation(1_000), evaluation: undefined });
  await mesh.replica();
  const ready = await mesh.ended((await mesh.request(2)).id);
  t.is(ready.status, 'READY');
  t.true((ready.fileSizeBytes ?? Number.POSITIVE_INFINITY) <= 400_000);
  const text = await textOf(await mesh.download(ready.downloadUrl));
  t.regex(text, /\d+messagesareleftouthere/u);
  for (const number of [1, 1_000]) t.true(text.includes(`#${number}·`), `${number}`);
  const rendered = await mesh.rendered();
  t.is((await mesh.ended((await mesh.request(2)).id)).fileSizeBytes, ready.fileSizeBytes);
  t.is(await mesh.rendered(), rendered, 'and asked for again it is the same file');
});

test('failed exports of a tenant share one fallback file', async (t) => {
  const mesh = await exportMesh(t, { EXPORT_MAX_BYTES: '1000', EXPORT_FALLBACK_FILE: await fileOf(t, fallback) });
  mesh.sessions.set(2, { tenantId: 1, status: 'ACTIVE', messages: conversation(3), evaluation: undefined });
  await mesh.replica();
  for (const sessionId of [1, 1, 2]) {
    const { status, downloadUrl } = await mesh.ended((await mesh.request(sessionId)).id);
    t.is(status, 'FALLBACK_READY');
    t.deepEqual(await mesh.download(downloadUrl), fallback);
  }
  t.is((await mesh.files()).length, 1);
});

test("with the operator's document it is FALLBACK_READY, with the reason and a link for a week", async (t) => {
  const mesh = await exportMesh(t, { EXPORT_TIMEOUT_MS: '1', EXPORT_FALLBACK_FILE: await fileOf(t, fallback) });
  mesh.sessions.set(2, { tenantId: 1, status: 'ACTIVE', messages: conversation(5_000), evaluation: undefined });
  await mesh.replica();
  const { id } = await mesh.request(2);
  const ready = await mesh.ended(id);
  const readAt = Date.now();
  t.like(ready, {
    status: 'FALLBACK_READY',
    errorMessage: 'The document could not be rendered: it takes too long.',
    fileSizeBytes: fallback.length,
  });
  t.deepEqual(await mesh.download(ready.downloadUrl), fallback);
  const expires = Number(/[?&]expires=(\d+)/iu.exec(ready.downloadUrl ?? '')?.[1]);
  t.true(Math.abs(expires * (expires > 1e12 ? 1 : 1_000) - readAt - 7 * dayMs) < 60_000);
});

test('a document that exceeds the limits of small ones is rendered as a large one', async (t) => {
  const mesh = await exportMesh(t, { EXPORT_SMALL_CHARACTERS: '5000000' });
  mesh.sessions.set(2, { tenantId: 1, status: 'ACTIVE', messages: conversation(10_000), evaluation: undefined });
  await mesh.replica();
  t.is((await mesh.ended((await mesh.request(2)).id)).status, 'READY');
  t.is(await mesh.rendered(), 2);
});

test('a document that takes too much memory fails without ending the unit', async (t) => {
  const mesh = await exportMesh(t, { EXPORT_MAX_MEMORY_MB: '192' });
  mesh.sessions.set(2, { tenantId: 1, status: 'ACTIVE', messages: conversation(10_000), evaluation: undefined });
  await mesh.replica();
  const { id } = await mesh.request(2);
  t.is((await mesh.ended(id)).errorMessage, 'The document could not be rendered: it takes too much memory.');
  t.is((await mesh.ended((await mesh.request(1)).id)).status, 'READY');
});

test('during an outage of a service or the object store an export waits and consumes no attempt', async (t) => {
  const mesh = await exportMesh(t);
  let isAway = true;
  let puts = 0;
  const away: typeof mesh.store = Object.assign(Object.create(mesh.store), {
    put: async (...given: Parameters<typeof mesh.store.put>) => {
      puts += 1;
      if (isAway) throw unavailable('The object store does not answer');
      return mesh.store.put(...given);
    },
  });
  mesh.script.failure = unavailable('Session does not answer');
  await mesh.replica(away);
  const { id } = await mesh.request();
  await eventually('it has asked', () => mesh.script.statesRead > 0);
  t.is((await mesh.get(id)).status, 'PENDING');
  delete mesh.script.failure;
  await eventually('it has tried to store', () => puts > 0);
  await eventually('it waits', async () => (await mesh.get(id)).status === 'PENDING');
  isAway = false;
  t.is((await mesh.ended(id)).status, 'READY');
});

test('an export that has waited for a day is FAILED, with the reason', async (t) => {
  const mesh = await exportMesh(t);
  mesh.script.failure = unavailable('Session does not answer');
  await mesh.replica();
  const { id } = await mesh.request();
  await eventually('it waits', async () => Number((await mesh.renderData())?.['waits']) >= 1);
  mesh.moveClock(dayMs - 60_000);
  const asked = mesh.script.statesRead;
  await eventually('it has asked again', () => mesh.script.statesRead > asked);
  t.is((await mesh.get(id)).status, 'PENDING');
  mesh.moveClock(2 * 60_000);
  t.like(await mesh.ended(id), {
    status: 'FAILED',
    errorMessage: 'The document could not be rendered: a service that it needs was unavailable for too long.',
    downloadUrl: undefined,
  });
  t.deepEqual(await mesh.jobs(), []);
});

test("after a day's wait for a service the operator's document is offered", async (t) => {
  const mesh = await exportMesh(t, { EXPORT_FALLBACK_FILE: await fileOf(t, fallback) });
  mesh.script.failure = unavailable('Session does not answer');
  await mesh.replica();
  const { id } = await mesh.request();
  await eventually('it waits', async () => Number((await mesh.renderData())?.['waits']) >= 1);
  mesh.moveClock(dayMs + 1_000);
  const { status, downloadUrl } = await mesh.ended(id);
  t.is(status, 'FALLBACK_READY');
  t.deepEqual(await mesh.download(downloadUrl), fallback);
});

test("after a day's wait for the object store the export is FAILED, because the operator's document cannot be stored either", async (t) => {
  const mesh = await exportMesh(t, { EXPORT_FALLBACK_FILE: await fileOf(t, fallback) });
  const away: typeof mesh.store = Object.assign(Object.create(mesh.store), {
    put: async () => {
      throw unavailable('The object store does not answer');
    },
  });
  await mesh.replica(away);
  const { id } = await mesh.request();
  await eventually('it waits', async () => Number((await mesh.renderData())?.['waits']) >= 1);
  mesh.moveClock(dayMs + 1_000);
  t.is((await mesh.ended(id)).status, 'FAILED');
});

test('an unusable fallback file stops the start and is named', async (t) => {
  const refused = async (path: string) =>
    (await t.throwsAsync((await exportMesh(t, { EXPORT_FALLBACK_FILE: path })).replica()))?.message ?? '';
  t.regex(await refused('/nowhere/fallback.pdf'), /EXPORT_FALLBACK_FILE.*cannot be read/u);
  t.regex(await refused(await fileOf(t, Buffer.from('text'))), /EXPORT_FALLBACK_FILE.*is not a PDF/u);
});

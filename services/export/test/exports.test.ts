import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { exportMesh } from './export-mesh.ts';
import { textOf, withoutSpaces } from './pdf-text.ts';
import { conversation, scripts } from './samples.ts';

const hourMs = 60 * 60 * 1_000;

test('a requested export is PENDING at once, and READY with a file of the session and its evaluation in the end', async (t) => {
  const mesh = await exportMesh(t);
  await mesh.replica();
  const made = await mesh.request();
  t.like(made, { kind: 'STUDY_KIT', status: 'PENDING', downloadUrl: undefined, fileSizeBytes: undefined });
  const ready = await mesh.ended(made.id);
  t.like(ready, { id: made.id, status: 'READY', errorMessage: undefined });
  const pdf = await mesh.download(ready.downloadUrl);
  t.is(ready.fileSizeBytes, pdf.length);
  const text = await textOf(pdf);
  for (const each of [scripts.latin[0], 'Ada', 'Algebra', '87 of 100', 'Skips the check of the result']) {
    t.true(text.includes(withoutSpaces(each ?? '')), each);
  }
  t.true((ready.updatedAt?.getTime() ?? 0) >= (made.createdAt?.getTime() ?? 0));
});

test('an export is RENDERING while its document is rendered', async (t) => {
  const mesh = await exportMesh(t);
  const gate = createGate();
  t.teardown(() => gate.open());
  mesh.script.gate = gate;
  await mesh.replica();
  const { id } = await mesh.request();
  await eventually('it is RENDERING', async () => (await mesh.get(id)).status === 'RENDERING');
  t.is((await mesh.get(id)).downloadUrl, undefined);
  gate.open();
  t.is((await mesh.ended(id)).status, 'READY');
});

test('each read returns a new link, valid for a day and not stored', async (t) => {
  const mesh = await exportMesh(t);
  await mesh.replica();
  const { id } = await mesh.request();
  const first = (await mesh.ended(id)).downloadUrl ?? '';
  const signedAt = Date.now();
  const next = await eventually('the clock has gone on', async () => {
    const { downloadUrl = '' } = await mesh.get(id);
    return downloadUrl !== first && downloadUrl;
  });
  t.deepEqual(await mesh.download(first), await mesh.download(next));
  const [row] = await mesh.database.transact(1, ({ knex }) => knex('export_records').where({ id }));
  t.false(JSON.stringify(row).includes('http'));
  const expires = Number(/[?&](?:expires|X-Amz-Expires)=(\d+)/iu.exec(first)?.[1]);
  const validMs = expires > 1e9 ? expires * (expires > 1e12 ? 1 : 1_000) - signedAt : expires * 1_000;
  t.true(Math.abs(validMs - 24 * hourMs) < 60_000, `${validMs}`);
});

test('exports of the same content share one file, which is removed with the last of them', async (t) => {
  const mesh = await exportMesh(t, { EXPORT_KEPT_DAYS: '8' });
  await mesh.replica();
  const first = await mesh.ended((await mesh.request()).id);
  mesh.moveClock(hourMs);
  const others = await Promise.all([mesh.request(), mesh.request()]);
  const [second] = await Promise.all(others.map(({ id }) => mesh.ended(id)));
  t.not(second?.id, first.id);
  t.deepEqual(await mesh.download(second?.downloadUrl), await mesh.download(first.downloadUrl));
  t.is((await mesh.files()).length, 1);
  mesh.moveClock(8 * 24 * hourMs - hourMs / 2);
  await eventually('the first is removed', async () => (await mesh.count()) === 2);
  await eventually('its removal has ended', async () => (await mesh.jobs('export.remove')).length === 2);
  t.is((await mesh.files()).length, 1);
  t.is((await mesh.download((await mesh.get(second?.id ?? 0)).downloadUrl)).length, first.fileSizeBytes ?? -1);
  mesh.moveClock(hourMs);
  await eventually('no file is left', async () => (await mesh.files()).length === 0);
  await eventually('and no record', async () => (await mesh.count()) === 0);
});

test('over the limit of bytes of a tenant, the session with the most bytes loses its oldest export', async (t) => {
  const mesh = await exportMesh(t, { EXPORT_KEPT_BYTES_PER_TENANT: '300000' });
  mesh.sessions.set(2, { tenantId: 1, status: 'ACTIVE', messages: conversation(10), evaluation: undefined });
  await mesh.replica();
  const quiet = await mesh.ended((await mesh.request(1)).id);
  const flood: number[] = [];
  for (let words = 0; words < 6; words += 1) {
    mesh.sessions.get(2)?.messages.push(...conversation(11 + words).slice(10 + words));
    flood.push((await mesh.ended((await mesh.request(2)).id)).id);
  }
  t.is((await mesh.get(quiet.id)).status, 'READY', 'the other session keeps its own');
  t.like(await t.throwsAsync(mesh.get(flood[0] ?? 0)), { kind: 'notFound' });
  t.is((await mesh.get(flood.at(-1) ?? 0)).status, 'READY');
  const size = async () =>
    (await mesh.store.list({ prefix: 'tenants/1/' })).objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  await eventually('their files are removed', async () => (await size()) <= 300_000);
  t.is((await mesh.files()).length, await mesh.count());
});

test('an export of an open session has the conversation so far and states that', async (t) => {
  const mesh = await exportMesh(t);
  mesh.sessions.set(2, { tenantId: 1, status: 'ACTIVE', messages: conversation(3), evaluation: undefined });
  await mesh.replica();
  const first = await mesh.ended((await mesh.request(2)).id);
  const text = await textOf(await mesh.download(first.downloadUrl));
  t.true(text.includes('Thissessionwasstillgoingon'));
  t.true(text.includes('Asessionisevaluatedafteritsend'));
  mesh.sessions.get(2)?.messages.push(...conversation(4).slice(3));
  const second = await mesh.ended((await mesh.request(2)).id);
  const later = await textOf(await mesh.download(second.downloadUrl));
  t.false(text.includes('#4·'));
  t.true(later.includes('#4·'));
});

test('a session without messages can be exported', async (t) => {
  const mesh = await exportMesh(t);
  mesh.sessions.set(2, { tenantId: 1, status: 'ACTIVE', messages: [], evaluation: undefined });
  await mesh.replica();
  const { downloadUrl } = await mesh.ended((await mesh.request(2)).id);
  t.true((await textOf(await mesh.download(downloadUrl))).includes('Nothingwassaidinthissession'));
});

test('an ended session waits for its evaluation, PENDING, and has it in the document', async (t) => {
  const mesh = await exportMesh(t);
  mesh.sessions.set(2, { tenantId: 1, status: 'ENDED', messages: conversation(3), evaluation: undefined });
  await mesh.replica();
  const { id } = await mesh.request(2);
  await eventually('it has asked', () => mesh.script.statesRead > 0);
  t.is((await mesh.get(id)).status, 'PENDING');
  const session = mesh.sessions.get(2);
  if (session) session.evaluation = mesh.sessions.get(1)?.evaluation;
  const { downloadUrl } = await mesh.ended(id);
  t.true((await textOf(await mesh.download(downloadUrl))).includes('87of100'));
});

test('if the evaluation is late, the document is rendered without it and states that', async (t) => {
  const mesh = await exportMesh(t, { EXPORT_EVALUATION_WAIT_MS: '1000' });
  mesh.sessions.set(2, { tenantId: 1, status: 'EXPIRED', messages: conversation(3), evaluation: undefined });
  await mesh.replica();
  const { downloadUrl } = await mesh.ended((await mesh.request(2)).id);
  t.true((await textOf(await mesh.download(downloadUrl))).includes('Thissessionwasnotevaluatedyetwhenthekitwasmade'));
  t.is(mesh.script.statesRead, 2);
});

test('requests with the same key, even concurrent ones, create one export', async (t) => {
  const mesh = await exportMesh(t);
  await mesh.replica();
  const requestKey = 'the same';
  const made = await Promise.all(Array.from({ length: 5 }, () => mesh.request(1, { requestKey })));
  t.is(new Set(made.map(({ id }) => id)).size, 1);
  t.is(await mesh.count(), 1);
});

test('the waiting exports of a session are bounded, and so are all its exports', async (t) => {
  const mesh = await exportMesh(t, { EXPORT_WAITING_PER_SESSION: '2', EXPORT_KEPT_PER_SESSION: '3' });
  const gate = createGate();
  t.teardown(() => gate.open());
  mesh.script.gate = gate;
  await mesh.replica();
  const outcomes = await Promise.allSettled(Array.from({ length: 6 }, () => mesh.request()));
  t.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 2, 'also of those that come at once');
  t.like(await t.throwsAsync(mesh.request()), {
    kind: 'tooManyRequests',
    reason: 'TOO_MANY_EXPORTS',
    message: '2 exports of this session are not rendered yet',
  });
  gate.open();
  await eventually('both have ended', async () => (await mesh.jobs()).length === 0);
  await mesh.ended((await mesh.request()).id);
  t.like(await t.throwsAsync(mesh.request()), {
    kind: 'tooManyRequests',
    message: 'This session has 3 exports, as many as are kept',
  });
});

test('the waiting exports of a tenant are bounded, without affecting other tenants', async (t) => {
  const mesh = await exportMesh(t, { EXPORT_WAITING_PER_TENANT: '1' });
  const gate = createGate();
  t.teardown(() => gate.open());
  mesh.script.gate = gate;
  const other = { kind: 'service', service: 'session', tenantId: 2, requestId: 'test' } as const;
  mesh.sessions.set(2, { tenantId: 1, status: 'ACTIVE', messages: [], evaluation: undefined });
  mesh.sessions.set(3, { tenantId: 2, status: 'ACTIVE', messages: [], evaluation: undefined });
  await mesh.replica();
  await mesh.request();
  t.like(await t.throwsAsync(mesh.request(2)), {
    kind: 'tooManyRequests',
    message: '1 exports of this tenant are not rendered yet',
  });
  await mesh.request(3, { caller: other });
});

test('a small document does not wait for long ones, however many tenants have them', async (t) => {
  const mesh = await exportMesh(t, { EXPORT_CONCURRENCY: '2', EXPORT_SMALL_CONCURRENCY: '1' });
  const gate = createGate();
  t.teardown(() => gate.open());
  mesh.script.restGate = gate;
  const callers = [2, 3, 4].map(
    (tenantId) => ({ kind: 'service', service: 'session', tenantId, requestId: 'test' }) as const,
  );
  for (const { tenantId } of callers)
    mesh.sessions.set(tenantId, { tenantId, status: 'ACTIVE', messages: conversation(1_500), evaluation: undefined });
  await mesh.replica();
  const long = await Promise.all(callers.map(async (caller) => mesh.request(caller.tenantId, { caller })));
  await eventually('all are known to be long', async () => (await mesh.jobs('export.render-large')).length === 3);
  const states = async () => Promise.all(long.map(async ({ id }, at) => (await mesh.get(id, callers[at])).status));
  await eventually(
    'two are under way',
    async () => (await states()).filter((each) => each === 'RENDERING').length === 2,
  );
  t.is((await states()).filter((each) => each === 'PENDING').length, 1);
  t.is((await mesh.ended((await mesh.request()).id)).status, 'READY');
  gate.open();
  for (const [at, { id }] of long.entries()) t.is((await mesh.ended(id, callers[at])).status, 'READY');
});

test("another tenant's export is not found, nor another session's with a session token", async (t) => {
  const mesh = await exportMesh(t);
  await mesh.replica();
  const { id } = await mesh.request();
  const caller = { tenantId: 1, requestId: 'test' } as const;
  const notFound = { kind: 'notFound', message: `Export ${id} not found` };
  t.like(await t.throwsAsync(mesh.get(id, { ...caller, kind: 'service', service: 'session', tenantId: 2 })), notFound);
  t.like(await t.throwsAsync(mesh.get(id, { ...caller, kind: 'session', sessionId: 2 })), notFound);
  t.is((await mesh.get(id, { ...caller, kind: 'session', sessionId: 1 })).id, id);
  t.is((await mesh.get(id, { ...caller, kind: 'user', userId: 1 })).id, id);
  t.like(await t.throwsAsync(mesh.request(1, { caller: { ...caller, kind: 'session', sessionId: 2 } })), {
    kind: 'forbidden',
  });
  for (const absent of [0, -1, 2_147_483_647]) t.like(await t.throwsAsync(mesh.get(absent)), { kind: 'notFound' });
});

test('an export is removed with its files after its retention time', async (t) => {
  const mesh = await exportMesh(t, { EXPORT_KEPT_DAYS: '8' });
  await mesh.replica();
  const { id } = await mesh.request();
  await mesh.ended(id);
  t.is((await mesh.files()).length, 1);
  mesh.moveClock(8 * 24 * hourMs - 60_000);
  const young = await mesh.request();
  await mesh.ended(young.id);
  mesh.moveClock(120_000);
  await eventually('it is removed', async () => (await mesh.files()).length === 1);
  await eventually('and its record', async () => (await mesh.count()) === 1);
  t.like(await t.throwsAsync(mesh.get(id)), { kind: 'notFound' });
  t.is((await mesh.get(young.id)).status, 'READY');
});

test('deleting a tenant removes its exports, their files, and those being rendered', async (t) => {
  const mesh = await exportMesh(t);
  const gate = createGate();
  t.teardown(() => gate.open());
  const { eventBus } = await mesh.replica();
  const ready = await mesh.ended((await mesh.request()).id);
  mesh.script.gate = gate;
  const { id } = await mesh.request();
  await eventually('it is RENDERING', async () => (await mesh.get(id)).status === 'RENDERING');
  await eventBus.publish([mesh.tenantDeleted(1)]);
  await eventually('no file is left', async () => (await mesh.files()).length === 0);
  gate.open();
  await eventually(
    'no job is left',
    async () => (await mesh.jobs()).length + (await mesh.jobs('export.remove')).length === 0,
  );
  t.deepEqual([await mesh.count(), await mesh.files()], [0, []]);
  t.like(await t.throwsAsync(mesh.get(ready.id)), { kind: 'notFound' });
  t.like(await t.throwsAsync(mesh.request()), { kind: 'forbidden', reason: 'NO_TENANT' });
});

import { unavailable } from '@parley/kernel/errors';
import { type ObjectStore, readObject } from '@parley/objects/object-store';
import { wholeRowsDatabase } from '@parley/postgres/database/answer-database';
import { DocumentUploaded } from '@parley/protos/parley/knowledge/v1/events';
import { bound } from '@parley/testing/bound';
import { eventually } from '@parley/testing/eventually';
import { onDatabaseServer } from '@parley/testing/every-database';
import { createGate } from '@parley/testing/gate';
import type { ConnectedStores } from '@parley/testing/object-store-contract';
import { connectS3, connectStorage, s3Tests } from '@parley/testing/object-stores';
import { replicaOf } from '@parley/testing/test-schema';
import test, { type ExecutionContext } from 'ava';
import { knowledgeSchema } from '../src/knowledge-schema.ts';
import { requestKnowledgeDocumentUpload } from '../src/uploads/request-knowledge-document-upload.ts';
import { checkJob, settleJob } from '../src/uploads/settle-upload.ts';
import { uploadTypes } from '../src/uploads/upload-rules.ts';
import { inTenant, type KnowledgeApp, knowledgeApp } from './knowledge-app.ts';

/** The documented limit of the product. */
const maxUploadBytes = 20 * 2 ** 20;

const me = inTenant(1);
const stranger = inTenant(2);
const pdf = 'application/pdf';
const hour = 60 * 60_000;
const bytesOf = (text: string) => Buffer.from(text);

interface Files {
  app: KnowledgeApp;
  store: ObjectStore;
  base: number;
}

/** Sends a PUT with a real HTTP client. */
async function put(url: string, body: Uint8Array, contentType = pdf): Promise<number> {
  const { status } = await fetch(url, {
    method: 'PUT',
    body: Buffer.from(body),
    headers: { 'content-type': contentType },
  });
  return status;
}

function asked(
  knowledgeBaseId: number,
  fields: Partial<{ fileName: string; mimeType: string; declaredSizeBytes: number }> = {},
) {
  return { knowledgeBaseId, fileName: 'returns.pdf', mimeType: pdf, declaredSizeBytes: 9, ...fields };
}

function confirmed(knowledgeBaseId: number, objectStorageKey: string, mimeType = pdf) {
  return { knowledgeBaseId, objectStorageKey, mimeType, fileName: 'returns.pdf' };
}

/** Requests an upload and sends these bytes to its URL. */
async function uploaded({ app, base }: Files, body = bytesOf('the bytes'), mimeType = pdf): Promise<string> {
  const declaredSizeBytes = Math.min(body.length, maxUploadBytes);
  const { uploadUrl, objectStorageKey } = await app.requestKnowledgeDocumentUpload(
    me,
    asked(base, { mimeType, declaredSizeBytes }),
  );
  if ((await put(uploadUrl, body, mimeType)) !== 200) throw new Error('the PUT was refused');
  return objectStorageKey;
}

async function isThere(store: ObjectStore, key: string): Promise<boolean> {
  return store.head(key).then(
    () => true,
    () => false,
  );
}

/** Advances the clock and runs the jobs that are then due. */
async function pass(app: KnowledgeApp, ms: number): Promise<void> {
  app.clock.offsetMs += ms;
}

async function published(app: KnowledgeApp): Promise<DocumentUploaded[]> {
  const rows = await app.database.transactShared(({ knex }) => knex('outbox').select('data').orderBy('id'));
  return rows.map(({ data }) => DocumentUploaded.decode(data));
}

function uploadTests(name: string, connect: () => Promise<ConnectedStores>): void {
  const storeTest = (title: string, run: (t: ExecutionContext, files: Files) => Promise<void>) =>
    test(`${name}: ${title}`, async (t) => {
      const { store, close } = await connect();
      t.teardown(close);
      const app = await knowledgeApp(t, { objects: store });
      await run(t, { app, store, base: await app.base() });
    });

  storeTest(
    'a file that was put is confirmed: PENDING, its storage counted, and document-uploaded in the same commit',
    async (t, files) => {
      const { app, store, base } = files;
      const key = await uploaded(files);
      t.regex(key, /^tenants\/1\/uploads\/[\da-f-]{36}\/returns\.pdf$/u);
      t.like(await app.usage(), { storedBytes: 0 }, 'an upload that is not confirmed counts nothing');
      const { documentId, parseStatus } = await app.confirmKnowledgeDocumentUpload(me, confirmed(base, key));
      t.is(parseStatus, 'PENDING');
      t.like(await app.getKnowledgeDocument(me, documentId), {
        parseStatus: 'PENDING',
        rawText: '',
        fileName: 'returns.pdf',
        mimeType: pdf,
        fileSizeBytes: 9,
        objectEtag: (await store.head(key)).etag,
      });
      t.like(await app.usage(), { storedBytes: 9 });
      t.deepEqual(await published(app), [{ documentId, knowledgeBaseId: base, version: 1 }]);
    },
  );

  storeTest(
    'each of the five types is taken, and a PUT of another type than the signed one is refused',
    async (t, files) => {
      const { app, base } = files;
      for (const mimeType of uploadTypes) {
        const key = await uploaded(files, bytesOf('x'), mimeType);
        const { documentId } = await app.confirmKnowledgeDocumentUpload(me, confirmed(base, key, mimeType));
        t.is((await app.getKnowledgeDocument(me, documentId)).mimeType, mimeType);
      }
      const { uploadUrl, objectStorageKey } = await app.requestKnowledgeDocumentUpload(me, asked(base));
      t.is(await put(uploadUrl, bytesOf('<b>'), 'text/html'), 403);
      const error = await t.throwsAsync(app.confirmKnowledgeDocumentUpload(me, confirmed(base, objectStorageKey)));
      t.like(error, { kind: 'invalid', reason: 'UPLOAD_MISSING' });
    },
  );

  storeTest(
    'the stored type rules: another one in the store, or in the confirm, than requested is refused',
    async (t, { app, store, base }) => {
      const { objectStorageKey: key } = await app.requestKnowledgeDocumentUpload(me, asked(base));
      await store.put(key, bytesOf('a,b'), { contentType: 'text/csv' });
      for (const mimeType of ['text/csv', pdf]) {
        t.true(await isThere(store, key), 'another type in the confirm alone refuses no file');
        const error = await t.throwsAsync(app.confirmKnowledgeDocumentUpload(me, confirmed(base, key, mimeType)));
        t.like(error, { kind: 'invalid', reason: 'UPLOAD_TYPE_DIFFERS' }, mimeType);
      }
      t.is(await app.count('knowledge_documents'), 0);
      t.like(await app.usage(), { storedBytes: 0 });
    },
  );

  storeTest('a stored file of 20 MB passes, a byte more and an empty one do not', async (t, { app, store, base }) => {
    const sizes: [number, string | undefined][] = [
      [0, 'UPLOAD_EMPTY'],
      [maxUploadBytes + 1, 'UPLOAD_TOO_LARGE'],
      [maxUploadBytes, undefined],
    ];
    for (const [size, reason] of sizes) {
      const { objectStorageKey: key } = await app.requestKnowledgeDocumentUpload(
        me,
        asked(base, { declaredSizeBytes: maxUploadBytes }),
      );
      await store.put(key, Buffer.alloc(size), { contentType: pdf });
      const confirm = app.confirmKnowledgeDocumentUpload(me, confirmed(base, key));
      if (reason === undefined) t.is((await confirm).parseStatus, 'PENDING');
      else t.like(await t.throwsAsync(confirm), { kind: 'invalid', reason });
    }
    t.like(await app.usage(), { storedBytes: maxUploadBytes });
  });

  storeTest(
    'files of 20 MB put to URLs that were requested for a byte are refused, removed at once, and count nothing',
    async (t, { app, store, base }) => {
      const offers = await Promise.all(
        Array.from({ length: 100 }, () =>
          app.requestKnowledgeDocumentUpload(me, asked(base, { declaredSizeBytes: 1 })),
        ),
      );
      const body = Buffer.alloc(maxUploadBytes);
      for (const { uploadUrl, objectStorageKey } of offers.slice(0, 12)) {
        t.is(await put(uploadUrl, body), 200);
        const error = await t.throwsAsync(app.confirmKnowledgeDocumentUpload(me, confirmed(base, objectStorageKey)));
        t.like(error, {
          kind: 'invalid',
          reason: 'UPLOAD_TOO_LARGE',
          message:
            'The uploaded file is too large: 20971520 bytes, and at most 262145 are allowed where 1 were declared',
        });
      }
      const keys = offers.map(({ objectStorageKey }) => objectStorageKey);
      const stored = async () => (await Promise.all(keys.map((key) => isThere(store, key)))).filter(Boolean).length;
      await eventually('none is stored', async () => (await stored()) === 0);
      t.like(await app.usage(), { storedBytes: 0 });
      t.is(await app.reservedBytes(), 88);

      const [{ uploadUrl, objectStorageKey } = { uploadUrl: '', objectStorageKey: '' }] = offers;
      await put(uploadUrl, bytesOf('once more'));
      const again = await t.throwsAsync(app.confirmKnowledgeDocumentUpload(me, confirmed(base, objectStorageKey)));
      t.like(again, { kind: 'invalid', reason: 'UPLOAD_REFUSED' });
      const more = await t.throwsAsync(app.requestKnowledgeDocumentUpload(me, asked(base)));
      t.like(more, { kind: 'tooManyRequests' }, 'a refused one counts while its URL can be used');
      await put(offers[50]?.uploadUrl ?? '', body);
      await pass(app, hour / 2);
      await eventually('no upload is open', async () => (await app.count('knowledge_uploads')) === 0);
      await eventually('none is stored', async () => (await stored()) === 0);
      t.is(await app.reservedBytes(), 0);
    },
  );

  storeTest(
    'bytes put after the confirm are not the confirmed version, and what replaced it is removed within a day',
    async (t, files) => {
      const { app, store, base } = files;
      const { uploadUrl, objectStorageKey: key } = await app.requestKnowledgeDocumentUpload(me, asked(base));
      await put(uploadUrl, bytesOf('confirmed'));
      const { documentId } = await app.confirmKnowledgeDocumentUpload(me, confirmed(base, key));
      t.is(await put(uploadUrl, bytesOf('something else')), name === 'S3' ? 200 : 409);
      await store.put(key, bytesOf('something else'), { contentType: pdf });
      const { objectEtag } = await app.getKnowledgeDocument(me, documentId);
      const read = readObject(store, key, { maxBytes: maxUploadBytes, ifMatch: objectEtag ?? '' });
      t.like(await t.throwsAsync(read), { reason: 'OBJECT_CHANGED' });
      const again = await t.throwsAsync(app.confirmKnowledgeDocumentUpload(me, confirmed(base, key)));
      t.like(again, { kind: 'invalid', reason: 'UPLOAD_USED' });
      t.like(await app.usage(), { storedBytes: 9 });
      await pass(app, 25 * hour);
      await eventually('the other bytes are removed', async () => !(await isThere(store, key)));
    },
  );

  storeTest(
    'an upload that nobody confirms is removed after 24 hours with its object, and not before',
    async (t, files) => {
      const { app, store, base } = files;
      const [left, used] = [await uploaded(files), await uploaded(files)];
      const { rows } = await app.database.transactShared(({ knex }) =>
        knex.raw(`SELECT cast(extract(epoch FROM run_at - parley_now()) / 3600 AS float) AS hours FROM jobs`),
      );
      const hours = rows.map((row: { hours: number }) => row.hours).toSorted((a: number, b: number) => a - b);
      t.is(hours.length, 4);
      for (const [n, after] of [0.5, 0.5, 24, 24].entries()) t.true(Math.abs(hours[n] - after) < 0.3, `${hours}`);
      const { documentId } = await app.confirmKnowledgeDocumentUpload(me, confirmed(base, used));
      await pass(app, 23 * hour);
      t.is(await app.count('knowledge_uploads'), 2);
      await pass(app, 2 * hour);
      await eventually('it is removed', async () => !(await isThere(store, left)) && (await app.count('jobs')) <= 1);
      t.is(await app.count('knowledge_uploads'), 1);
      t.true(await isThere(store, used), 'a document still needs it');
      const late = await t.throwsAsync(app.confirmKnowledgeDocumentUpload(me, confirmed(base, left)));
      t.like(late, { kind: 'notFound' });
      t.is((await app.getKnowledgeDocument(me, documentId)).fileSizeBytes, 9);
    },
  );

  storeTest('the object of a deleted document is removed, also when it is put once more', async (t, files) => {
    const { app, store, base } = files;
    const { uploadUrl, objectStorageKey: key } = await app.requestKnowledgeDocumentUpload(me, asked(base));
    await put(uploadUrl, bytesOf('the bytes'));
    const { documentId } = await app.confirmKnowledgeDocumentUpload(me, confirmed(base, key));
    await app.deleteKnowledgeDocument(me, documentId);
    await eventually('the object is removed', async () => !(await isThere(store, key)));
    t.like(await app.usage(), { storedBytes: 0 });
    await put(uploadUrl, bytesOf('once more'));
    const again = await t.throwsAsync(app.confirmKnowledgeDocumentUpload(me, confirmed(base, key)));
    t.like(again, { reason: 'UPLOAD_USED' });
    await pass(app, 25 * hour);
    await eventually('it is removed again', async () => !(await isThere(store, key)));
    await eventually('no job is left', async () => (await app.count('jobs')) === 0);
  });

  storeTest(
    'file names of any script, and those that lead out of a folder, become one safe segment of the key',
    async (t, files) => {
      const { app, base } = files;
      for (const fileName of [
        '../../etc/passwd',
        'जीवन बीमा.pdf',
        '報告 100%.pdf',
        'a b\u200f.pdf',
        '..',
        `${'長'.repeat(250)}.pdf`,
      ]) {
        const { uploadUrl, objectStorageKey: key } = await app.requestKnowledgeDocumentUpload(
          me,
          asked(base, { fileName }),
        );
        t.regex(key, /^tenants\/1\/uploads\/[\da-f-]{36}\/[\p{L}\p{M}\p{N}._-]+$/u);
        t.is(await put(uploadUrl, bytesOf('x')), 200, fileName);
        const { documentId } = await app.confirmKnowledgeDocumentUpload(me, { ...confirmed(base, key), fileName });
        t.is((await app.getKnowledgeDocument(me, documentId)).fileName, fileName);
      }
    },
  );
}

uploadTests('file store', connectStorage);
s3Tests('uploads to S3', () => {
  uploadTests('S3', connectS3);

  test('S3: an upload of more than 20 MB is refused at its confirmation', async (t) => {
    const { store, close } = await connectS3();
    t.teardown(close);
    const app = await knowledgeApp(t, { objects: store });
    const files = { app, store, base: await app.base() };
    const key = await uploaded(files, Buffer.alloc(maxUploadBytes + 1));
    const error = await t.throwsAsync(app.confirmKnowledgeDocumentUpload(me, confirmed(files.base, key)));
    t.like(error, { reason: 'UPLOAD_TOO_LARGE' });
  });
});

async function fileApp(t: ExecutionContext): Promise<Files> {
  const { store, close } = await connectStorage();
  t.teardown(close);
  const app = await knowledgeApp(t, { objects: store });
  return { app, store, base: await app.base() };
}

test('file store: a PUT of more than 20 MB is refused', async (t) => {
  const { app, base } = await fileApp(t);
  const { uploadUrl } = await app.requestKnowledgeDocumentUpload(me, asked(base));
  t.is(await put(uploadUrl, Buffer.alloc(maxUploadBytes + 1)), 413);
});

test('file store: files of 20 MB put to the URLs of confirmed uploads are not stored, even after a document is deleted', async (t) => {
  const { app, store, base } = await fileApp(t);
  const body = Buffer.alloc(maxUploadBytes);
  for (let n = 0; n < 12; n++) {
    const { uploadUrl, objectStorageKey: key } = await app.requestKnowledgeDocumentUpload(
      me,
      asked(base, { declaredSizeBytes: 1 }),
    );
    t.is(await put(uploadUrl, bytesOf('x')), 200);
    t.is(await put(uploadUrl, bytesOf('y')), 200, 'a PUT may be repeated before the confirm');
    const { documentId } = await app.confirmKnowledgeDocumentUpload(me, confirmed(base, key));
    if (n % 2) {
      await app.deleteKnowledgeDocument(me, documentId);
      await eventually('the object is removed', async () => !(await isThere(store, key)));
    }
    t.is(await put(uploadUrl, body), 409);
  }
  const { objects } = await store.list({ prefix: 'tenants/1/' });
  t.deepEqual(
    objects.map(({ sizeBytes }) => sizeBytes),
    Array.from({ length: 6 }, () => 1),
  );
});

test('an upload URL is valid for 15 minutes', async (t) => {
  const { store, close } = await connectStorage();
  t.teardown(close);
  const signed: number[] = [];
  const objects: ObjectStore = {
    ...store,
    presignPut: (options) => {
      signed.push(options.expiresInMs);
      return store.presignPut(options);
    },
  };
  const app = await knowledgeApp(t, { objects });
  await app.requestKnowledgeDocumentUpload(me, asked(await app.base()));
  t.deepEqual(signed, [15 * 60_000]);
});

test('the declaration of a request is checked: five types, 1 byte to 20 MB, a name', async (t) => {
  const { app, base } = await fileApp(t);
  const refused = async (fields: Parameters<typeof asked>[1], path: string) => {
    const error = await t.throwsAsync(app.requestKnowledgeDocumentUpload(me, asked(base, fields)));
    t.like(error, { kind: 'invalid', fields: [{ path }] }, JSON.stringify(fields).slice(0, 60));
  };
  for (const mimeType of ['text/html', 'APPLICATION/PDF', 'text/plain', 'application/pdf; charset=utf-8', '']) {
    await refused({ mimeType }, 'input.mimeType');
  }
  for (const declaredSizeBytes of [0, -1, maxUploadBytes + 1])
    await refused({ declaredSizeBytes }, 'input.declaredSizeBytes');
  for (const fileName of ['', ' ', 'x'.repeat(256), 'a\0b', 'a\ud800', 'a\r\nb.pdf', 'a\u0007b', '\u200b\u00ad'])
    await refused({ fileName }, 'input.fileName');
  t.is(await app.count('knowledge_uploads'), 0);
  await t.notThrowsAsync(app.requestKnowledgeDocumentUpload(me, asked(base, { declaredSizeBytes: maxUploadBytes })));
});

test('a foreign, deleted or absent base is not found, at the request and at the confirmation', async (t) => {
  const files = await fileApp(t);
  const { app, base } = files;
  const deleted = await app.base();
  await app.deleteKnowledgeBase(me, deleted);
  const { id: foreign } = await app.createKnowledgeBase(stranger, { name: 'Theirs' });
  const key = await uploaded(files);
  for (const id of [deleted, foreign, 999_999, 0, -1, 99_999_999_999]) {
    t.like(await t.throwsAsync(app.requestKnowledgeDocumentUpload(me, asked(id))), { kind: 'notFound' }, String(id));
    t.like(await t.throwsAsync(app.confirmKnowledgeDocumentUpload(me, confirmed(id, key))), { kind: 'notFound' });
  }
  t.is((await app.confirmKnowledgeDocumentUpload(me, confirmed(base, key))).parseStatus, 'PENDING');
});

test('a key of another tenant or base, or a key that was never issued, is not found', async (t) => {
  const files = await fileApp(t);
  const { app, store, base } = files;
  const other = await app.base();
  const { id: theirs } = await app.createKnowledgeBase(stranger, { name: 'Theirs' });
  const key = await uploaded(files);
  const forged = 'tenants/1/uploads/0d9f0a52-8b7e-4c0e-9d0c-1f2f6a6c3c11/returns.pdf';
  await store.put(forged, bytesOf('x'), { contentType: pdf });
  const refusals = [
    () => app.confirmKnowledgeDocumentUpload(stranger, confirmed(theirs, key)),
    () => app.confirmKnowledgeDocumentUpload(stranger, confirmed(base, key)),
    () => app.confirmKnowledgeDocumentUpload(me, confirmed(other, key)),
    ...[forged, '', `${key}/`, key.toUpperCase(), key.replace('returns', '../returns'), `${key}/../returns.pdf`].map(
      (each) => () => app.confirmKnowledgeDocumentUpload(me, confirmed(base, each)),
    ),
  ];
  for (const [n, refusal] of refusals.entries()) t.like(await t.throwsAsync(refusal), { kind: 'notFound' }, String(n));
  t.is(await app.count('knowledge_documents'), 0);
});

test('of 20 concurrent confirmations one creates the document, and storage counts once', async (t) => {
  const files = await fileApp(t);
  const { app, base } = files;
  const key = await uploaded(files);
  const all = await Promise.allSettled(
    Array.from({ length: 20 }, () => app.confirmKnowledgeDocumentUpload(me, confirmed(base, key))),
  );
  const errors = all.flatMap((each) => (each.status === 'rejected' ? [each.reason.reason] : []));
  t.deepEqual(
    errors,
    Array.from({ length: 19 }, () => 'UPLOAD_USED'),
  );
  t.is(await app.count('knowledge_documents'), 1);
  t.like(await app.usage(), { storedBytes: 9 });
  t.is((await published(app)).length, 1);
});

test('a file larger than the remaining storage is refused: by its declared size at the request, by its stored size at the confirmation', async (t) => {
  const files = await fileApp(t);
  const { app, base, store } = files;
  app.quotas.storageBytes = 20;
  const error = await t.throwsAsync(app.requestKnowledgeDocumentUpload(me, asked(base, { declaredSizeBytes: 21 })));
  t.like(error, { kind: 'invalid', reason: 'QUOTA_EXCEEDED' });
  t.is(await app.count('knowledge_uploads'), 0);

  const offers = await Promise.all(
    Array.from({ length: 3 }, () => app.requestKnowledgeDocumentUpload(me, asked(base, { declaredSizeBytes: 6 }))),
  );
  const keys = offers.map(({ objectStorageKey }) => objectStorageKey);
  for (const { uploadUrl } of offers) await put(uploadUrl, bytesOf('the bytes'));
  const [key = ''] = keys;
  const refusal = await t.throwsAsync(app.confirmKnowledgeDocumentUpload(me, confirmed(base, key)));
  t.like(refusal, { kind: 'invalid', reason: 'QUOTA_EXCEEDED' });
  await eventually('the refused file is removed', async () => !(await isThere(store, key)));
  for (const key of keys.slice(1)) await app.confirmKnowledgeDocumentUpload(me, confirmed(base, key));
  t.like(await app.usage(), { storedBytes: 18 });
  t.is(await app.reservedBytes(), 0);
});

test('the declared size is reserved once, until the upload is confirmed, refused or a day old', async (t) => {
  const files = await fileApp(t);
  const { app, base } = files;
  app.quotas.storageBytes = 100;
  const request = (declaredSizeBytes: number) =>
    app.requestKnowledgeDocumentUpload(me, asked(base, { declaredSizeBytes }));
  const all = await Promise.allSettled(Array.from({ length: 10 }, () => request(30)));
  t.is(all.filter(({ status }) => status === 'fulfilled').length, 3, 'requests at once reserve no more than there is');
  t.is(await app.reservedBytes(), 90);
  const refused = {
    kind: 'invalid',
    reason: 'QUOTA_EXCEEDED',
    message: `The plan's quota of storage does not have room: limit 100 bytes, used 0 bytes, 90 bytes reserved for uploads not yet confirmed, and this takes 11 more`,
  };
  t.like(await t.throwsAsync(request(11)), { kind: refused.kind, reason: refused.reason });
  const text = app.ingestDocument(me, { knowledgeBaseId: base, fileName: 'a.txt', text: 'eleven char' });
  t.like(await t.throwsAsync(text), { reason: refused.reason }, 'a text does not take what is reserved');

  const offered = all.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const [first, second] = offered;
  if (!first || !second) throw new Error('not offered');
  await put(first.uploadUrl, bytesOf('9 of 30 b'));
  await app.confirmKnowledgeDocumentUpload(me, confirmed(base, first.objectStorageKey));
  t.is(await app.reservedBytes(), 60);
  t.like(await app.usage(), { storedBytes: 9 });
  await put(second.uploadUrl, bytesOf(''));
  const confirms = Array.from({ length: 3 }, () =>
    app.confirmKnowledgeDocumentUpload(me, confirmed(base, second.objectStorageKey)),
  );
  const outcomes = await Promise.allSettled(confirms);
  t.true(outcomes.every(({ status }) => status === 'rejected'));
  t.is(await app.reservedBytes(), 30);

  const third = await request(30);
  await put(third.uploadUrl, bytesOf('left'));
  await pass(app, hour);
  await eventually('what no file came for is released', async () => (await app.reservedBytes()) === 30);
  await pass(app, 25 * hour);
  await eventually('all is released', async () => (await app.reservedBytes()) === 0);
  t.like(await app.usage(), { storedBytes: 9 });
  await t.notThrowsAsync(request(91));
});

test('a file may be larger than declared by an eighth or 256 KB, whichever is more, and no larger than 20 MB', async (t) => {
  const { app, base, store } = await fileApp(t);
  const kb = 1024;
  const sizes: [number, number, boolean][] = [
    [1, 256 * kb + 1, true],
    [1, 256 * kb + 2, false],
    [8_000 * kb, 9_000 * kb, true],
    [8_000 * kb, 9_000 * kb + 1, false],
    [maxUploadBytes, maxUploadBytes + 1, false],
  ];
  for (const [declaredSizeBytes, size, taken] of sizes) {
    const { objectStorageKey: key } = await app.requestKnowledgeDocumentUpload(me, asked(base, { declaredSizeBytes }));
    await store.put(key, Buffer.alloc(size), { contentType: pdf });
    const confirm = app.confirmKnowledgeDocumentUpload(me, confirmed(base, key));
    if (taken) await t.notThrowsAsync(confirm, `${size}`);
    else t.like(await t.throwsAsync(confirm), { reason: 'UPLOAD_TOO_LARGE' }, `${size}`);
  }
});

test('an upload requested by a version without reservations reserves nothing and may have 20 MB', async (t) => {
  const { app, base, store } = await fileApp(t);
  const { objectStorageKey: key } = await app.requestKnowledgeDocumentUpload(me, asked(base, { declaredSizeBytes: 1 }));
  await app.database.transact(1, ({ knex }) => knex('knowledge_uploads').update({ declaredBytes: null }));
  t.is(await app.reservedBytes(), 0);
  await store.put(key, Buffer.alloc(maxUploadBytes), { contentType: pdf });
  await t.notThrowsAsync(app.confirmKnowledgeDocumentUpload(me, confirmed(base, key)));
});

test('a file that replaced the confirmed file is removed after its URL expires', async (t) => {
  const { app, base, store } = await fileApp(t);
  const key = await uploaded({ app, store, base });
  await app.confirmKnowledgeDocumentUpload(me, confirmed(base, key));
  await store.put(key, Buffer.alloc(maxUploadBytes), { contentType: pdf }); // a PUT that S3 accepted after the confirmation
  t.is((await store.head(key)).sizeBytes, maxUploadBytes);
  await pass(app, hour / 2);
  await eventually('the other bytes are removed', async () => !(await isThere(store, key)));
});

test('a deleted base releases the storage reserved by its uploads, and their files are removed', async (t) => {
  const files = await fileApp(t);
  const { app, base, store } = files;
  const other = await app.base();
  const [key, kept] = [await uploaded(files), await uploaded({ ...files, base: other })];
  t.is(await app.reservedBytes(), 18);
  await app.deleteKnowledgeBase(me, base);
  t.is(await app.reservedBytes(), 9);
  await eventually('the file is removed', async () => !(await isThere(store, key)));
  t.is((await app.confirmKnowledgeDocumentUpload(me, confirmed(other, kept))).parseStatus, 'PENDING');
});

test('a refused file is removed even if the object store was unavailable or the process died before the removal', async (t) => {
  const { app, base, store } = await fileApp(t);
  const { objectStorageKey: key } = await app.requestKnowledgeDocumentUpload(me, asked(base, { declaredSizeBytes: 1 }));
  await store.put(key, Buffer.alloc(maxUploadBytes), { contentType: pdf });
  let refusals = 0;
  app.ports.objects = {
    ...store,
    delete: () => {
      refusals += 1;
      return Promise.reject(unavailable('the object store is away'));
    },
  };
  const reliable = app.ports.database;
  let transactions = 0;
  app.ports.database = {
    ...reliable,
    transact: async (tenantId, work, options) => {
      transactions += 1;
      if (transactions === 2) throw unavailable('the process ends before it has noted the refusal');
      return reliable.transact(tenantId, work, options);
    },
  };
  const confirm = () => app.confirmKnowledgeDocumentUpload(me, confirmed(base, key));
  t.like(await t.throwsAsync(confirm()), { kind: 'unavailable' });
  t.true(await isThere(store, key));
  app.ports.database = reliable;
  await pass(app, hour / 2);
  await eventually('the check has tried', () => refusals > 0);
  app.ports.objects = store;
  await pass(app, 24 * hour);
  await eventually('the object is removed', async () => !(await isThere(store, key)));
  await eventually('nothing is reserved', async () => (await app.reservedBytes()) === 0);
});

test('the open uploads of a tenant are bounded, also for concurrent requests; a confirmation makes room', async (t) => {
  const files = await fileApp(t);
  const { app, base } = files;
  app.ports.openUploads = 3;
  const { id: theirs } = await app.createKnowledgeBase(stranger, { name: 'Theirs' });
  const key = await uploaded(files);
  const all = await Promise.allSettled(
    Array.from({ length: 6 }, () => app.requestKnowledgeDocumentUpload(me, asked(base))),
  );
  t.is(all.filter(({ status }) => status === 'fulfilled').length, 2);
  const refusal = all.find((each) => each.status === 'rejected')?.reason;
  t.like(refusal, { kind: 'tooManyRequests' });
  await t.notThrowsAsync(app.requestKnowledgeDocumentUpload(stranger, asked(theirs)), 'another tenant is not affected');
  await app.confirmKnowledgeDocumentUpload(me, confirmed(base, key));
  await t.notThrowsAsync(app.requestKnowledgeDocumentUpload(me, asked(base)));
});

test('a confirmed upload counts toward a four times higher limit while its URL may be used', async (t) => {
  const files = await fileApp(t);
  const { app, base } = files;
  app.ports.openUploads = 3;
  const { id: theirs } = await app.createKnowledgeBase(stranger, { name: 'Theirs' });
  for (let n = 0; n < 12; n++) {
    const confirm = app.confirmKnowledgeDocumentUpload(me, confirmed(base, await uploaded(files)));
    const { documentId } = await confirm;
    if (n % 2) await app.deleteKnowledgeDocument(me, documentId);
  }
  const request = () => app.requestKnowledgeDocumentUpload(me, asked(base));
  t.like(await t.throwsAsync(request()), {
    kind: 'tooManyRequests',
    message: '12 uploads were requested within half an hour: wait',
  });
  await t.notThrowsAsync(app.requestKnowledgeDocumentUpload(stranger, asked(theirs)), 'another tenant is not affected');
  await pass(app, hour / 2);
  await t.notThrowsAsync(request());
});

test('uploads without a file or with a too large file make room once no file can arrive any more; other uploads do not', async (t) => {
  const files = await fileApp(t);
  const { app, base, store } = files;
  app.ports.openUploads = 60;
  const request = () => app.requestKnowledgeDocumentUpload(me, asked(base, { declaredSizeBytes: 9 }));
  const keys = await Promise.all(Array.from({ length: 50 }, () => uploaded(files)));
  const [late, large] = [await request(), await request()];
  await store.put(large.objectStorageKey, Buffer.alloc(maxUploadBytes), { contentType: pdf });
  await Promise.all(Array.from({ length: 8 }, request));
  const refused = { kind: 'tooManyRequests', message: /^60 uploads wait to be confirmed/u };
  await pass(app, hour / 2 - 60_000);
  t.like(await t.throwsAsync(request()), { kind: refused.kind });
  await pass(app, 60_000);
  await eventually('there is room for ten', async () => (await app.count('knowledge_uploads')) === 50);
  t.false(await isThere(store, large.objectStorageKey));
  await t.notThrowsAsync(Promise.all(Array.from({ length: 10 }, request)));
  t.regex((await t.throwsAsync(request())).message, refused.message, 'those with a file count');
  t.is((await app.confirmKnowledgeDocumentUpload(me, confirmed(base, keys[7] ?? ''))).parseStatus, 'PENDING');

  await store.put(late.objectStorageKey, bytesOf('too late'), { contentType: pdf });
  const error = await t.throwsAsync(app.confirmKnowledgeDocumentUpload(me, confirmed(base, late.objectStorageKey)));
  t.like(error, { kind: 'notFound' });
  await pass(app, 25 * hour);
  await eventually('it is removed', async () => !(await isThere(store, late.objectStorageKey)));
});

test('without the object store a confirmation is unavailable: no row, no event, and the quota unchanged', async (t) => {
  const files = await fileApp(t);
  const { app, base, store } = files;
  const key = await uploaded(files);
  app.ports.objects = { ...store, head: () => Promise.reject(unavailable('the object store is away')) };
  const error = await t.throwsAsync(app.confirmKnowledgeDocumentUpload(me, confirmed(base, key)));
  t.like(error, { kind: 'unavailable' });
  t.is(await app.count('knowledge_documents'), 0);
  t.like(await app.usage(), { storedBytes: 0 });
  t.deepEqual(await published(app), []);
  app.ports.objects = store;
  t.is((await app.confirmKnowledgeDocumentUpload(me, confirmed(base, key))).parseStatus, 'PENDING');
});

test('after an outage of the object store old uploads are removed', async (t) => {
  const files = await fileApp(t);
  const { app, store } = files;
  const key = await uploaded(files);
  let refusals = 0;
  app.ports.objects = {
    ...store,
    delete: () => {
      refusals += 1;
      return Promise.reject(unavailable('the object store is away'));
    },
  };
  await pass(app, 25 * hour);
  await eventually('the job has tried', () => refusals > 0);
  t.true(await isThere(store, key));
  app.ports.objects = store;
  await pass(app, hour);
  await eventually('the object is removed', async () => !(await isThere(store, key)));
});

test('a base that is deleted while its upload is confirmed gets no document', async (t) => {
  const files = await fileApp(t);
  const { app, base, store } = files;
  const key = await uploaded(files);
  const [asks, goes] = [createGate(), createGate()];
  app.ports.objects = {
    ...store,
    head: async (name) => {
      asks.release();
      await goes.pass();
      return store.head(name);
    },
  };
  const confirm = app.confirmKnowledgeDocumentUpload(me, confirmed(base, key));
  await asks.pass();
  await app.deleteKnowledgeBase(me, base);
  goes.open();
  t.like(await t.throwsAsync(confirm), { kind: 'notFound' });
  t.is(await app.count('knowledge_documents'), 0);
});

onDatabaseServer(({ test: serverTest }) => {
  serverTest(
    'two replicas together reserve no more than the plan has, and open no more uploads than they may',
    async (t) => {
      const { app, base } = await fileApp(t);
      app.quotas.storageBytes = 1_000;
      const database = await replicaOf(t, app.database, knowledgeSchema);
      for (const { runner } of [checkJob(app.ports), settleJob(app.ports)]) runner({ database, log: app.ports.log });
      const replicas = [app.ports, { ...app.ports, database: wholeRowsDatabase(database) }];
      const requests = (declaredSizeBytes: number) =>
        Promise.allSettled(
          Array.from({ length: 24 }, (_, n) => {
            const ports = replicas[n % 2] ?? app.ports;
            return bound(
              { requestKnowledgeDocumentUpload },
              { ...ports, openUploads: 5 },
            ).requestKnowledgeDocumentUpload(me, asked(base, { declaredSizeBytes }));
          }),
        );
      const taken = (all: PromiseSettledResult<unknown>[]) => all.filter(({ status }) => status === 'fulfilled').length;
      t.is(taken(await requests(300)), 3);
      t.is(await app.reservedBytes(), 900);
      t.is(taken(await requests(1)), 2);
      t.is(await app.count('knowledge_uploads'), 5);
    },
  );

  serverTest('an upload is either confirmed or removed, whichever comes first', async (t) => {
    const files = await fileApp(t);
    const { app, base, store } = files;
    const keys = await Promise.all(Array.from({ length: 8 }, () => uploaded(files)));
    app.clock.offsetMs += 25 * hour;
    const all = await Promise.allSettled(
      keys.map((key) => app.confirmKnowledgeDocumentUpload(me, confirmed(base, key))),
    );
    await eventually(
      'no upload is open',
      async () => (await app.count('knowledge_uploads')) === (await app.count('knowledge_documents')),
    );
    for (const [n, { status }] of all.entries()) {
      if (status === 'rejected')
        await eventually('its object is gone', async () => !(await isThere(store, keys[n] ?? '')));
    }
    t.is(await app.count('knowledge_documents'), all.filter(({ status }) => status === 'fulfilled').length);
  });
});

import { requestOf } from '@parley/testing/request-of';
import test from 'ava';
import { documentStore } from '../src/documents/document-store.ts';
import { buildGeneration, switchGeneration } from '../src/indexing/index-text.ts';
import { inTenant, type KnowledgeApp, knowledgeApp, textOf } from './knowledge-app.ts';

const me = inTenant(1);
const model = 'test-embedding';

/** Indexes a parsed text as the service's job does. Returns the id of the document. */
async function indexUpload(app: KnowledgeApp, base: number, text: string, pageStarts: number[]): Promise<number> {
  const { id: documentId } = await app.upload(base, 'PARSING');
  const indexed = { documentId, name: 'a.pdf', knowledgeBaseId: base, model, text, pageStarts };
  const built = await buildGeneration(app.ports, requestOf(me), indexed, async () => undefined);
  await app.database.transact(1, async (db) => {
    const { document } = await documentStore(db).lockInBase(documentId);
    await documentStore(db).writeText(documentId, { rawText: text, pageStarts });
    await documentStore(db).writeStatus(documentId, { parseStatus: 'READY' });
    await switchGeneration(db, document, built, app.quotas);
  });
  return documentId;
}

async function chunks(app: KnowledgeApp, documentId: number) {
  return app.database.transact(1, ({ knex }) =>
    knex('knowledge_chunks')
      .where({ documentId })
      .select('chunkIndex', 'heading', 'page', 'content', 'generation')
      .orderBy(['generation', 'chunkIndex']),
  );
}

test('chunks have their index, headings and page, also after a re-sync of the stored text', async (t) => {
  const app = await knowledgeApp(t);
  const text = textOf(3);
  const id = await indexUpload(app, await app.base(), text, [0, text.indexOf('# Part 1'), text.indexOf('# Part 2')]);
  const first = await chunks(app, id);
  t.like(first, [
    { chunkIndex: 0, heading: 'Part 0', page: 1 },
    { chunkIndex: 1, heading: 'Part 1', page: 2 },
    { chunkIndex: 2, heading: 'Part 2', page: 3 },
  ]);
  await app.resyncKnowledgeDocument(me, id);
  await app.sweep();
  t.deepEqual(
    await chunks(app, id),
    first.map((chunk) => ({ ...chunk, generation: 2 })),
  );
  await app.updateKnowledgeDocumentText(me, { id, text });
  await app.sweep();
  t.deepEqual(
    (await chunks(app, id)).map(({ page }) => page),
    [null, null, null],
    'a given text has no pages',
  );
});

test("a passage is embedded with its document's name and the headings above it, and its vector is stored unchanged", async (t) => {
  const app = await knowledgeApp(t);
  const base = await app.base();
  const id = await app.document(base, `# Returns\n\n## Fees\n\n${'Two euros for a parcel. '.repeat(200)}`);
  t.true(app.embedder.embedded.length > 1);
  for (const text of app.embedder.embedded) t.true(text.startsWith('a\n\nReturns > Fees\n\n'));
  t.false((await app.searched(base))[1]?.includes('Returns'));

  const call = { caller: me, model, callId: 'again' };
  const { vectors } = await app.embedder.embed([...app.embedder.embedded], call);
  for (const [chunkIndex, vector] of vectors.entries()) {
    const { rows } = await app.database.transact(1, ({ knex }) =>
      knex.raw(
        'SELECT embedding <=> cast(? AS halfvec) AS distance FROM knowledge_chunks WHERE document_id = ? AND chunk_index = ?',
        [JSON.stringify([...vector]), id, chunkIndex],
      ),
    );
    t.true(rows[0].distance < 1e-6, String(rows[0].distance));
  }
});

test('each embedding call has its own id and the model of the base', async (t) => {
  const app = await knowledgeApp(t);
  const calls: { callId: string; model: string }[] = [];
  const { embed } = app.embedder;
  app.embedder.embed = (texts, call) => {
    calls.push({ callId: call.callId, model: call.model });
    return embed.call(app.embedder, texts, call);
  };
  const base = await app.base();
  app.embedder.model = 'newer';
  const id = await app.document(base, textOf(150));
  await app.resyncKnowledgeDocument(me, id);
  t.is(calls.length, 4);
  t.is(new Set(calls.map(({ callId }) => callId)).size, 4);
  t.deepEqual([...new Set(calls.map((call) => call.model))], [model]);
});

test('no SQL statement of the service reads an embedding', async (t) => {
  const app = await knowledgeApp(t);
  const base = await app.base();
  const statements: string[] = [];
  const { database } = app.ports;
  app.ports.database = {
    ...database,
    transact: (tenantId, work, options) =>
      database.transact(
        tenantId,
        (db) => {
          db.knex.on('query', ({ sql }: { sql: string }) => statements.push(sql));
          return work(db);
        },
        options,
      ),
  };
  const id = await app.document(base, textOf(2));
  await app.resyncKnowledgeDocument(me, id);
  await app.updateKnowledgeDocumentText(me, { id, text: textOf(3) });
  await app.getKnowledgeDocument(me, id);
  await app.deleteKnowledgeDocument(me, id);
  const naming = statements.filter((sql) => /\bembedding\b/u.test(sql));
  t.true(naming.length > 0);
  for (const sql of naming) t.regex(sql, /^INSERT INTO knowledge_chunks/u);
});

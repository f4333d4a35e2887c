import { unavailable } from '@parley/kernel/errors';
import type { Database } from '@parley/postgres/database/types';
import test, { type ExecutionContext } from 'ava';
import { inTenant, type KnowledgeApp, knowledgeApp, textOf } from './knowledge-app.ts';

const tenants = [1, 2];

interface Thing {
  tenantId: number;
  id: number;
}

for (const seed of [1, 2, 3, 4]) {
  test(`after concurrent random operations with failures, counters equal rows and no unused chunk remains: ${seed}`, async (t) => {
    const app = await knowledgeApp(t);
    const random = randomBy(seed);
    const oneOf = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
    app.quotas.chunks = 60;
    app.quotas.storageBytes = 90_000;
    const reliable = app.ports.database;
    app.ports.database = unreliable(reliable, random);
    app.embedder.before = () => {
      if (random() < 0.08) throw unavailable('the endpoint is away');
    };
    const bases: Thing[] = [];
    const documents: Thing[] = [];
    const outcomes = new Map<string, number>();

    const text = () => textOf(1 + Math.floor(random() * 8), oneOf(['apples', 'pears', 'plums']));
    /** Returns a caller. In nine of ten cases it belongs to the tenant that owns the thing, otherwise to the other tenant. */
    const callerFor = ({ tenantId }: Thing) => inTenant(random() < 0.9 ? tenantId : 3 - tenantId);
    const operations: Record<string, () => Promise<unknown>> = {
      async createBase() {
        const tenantId = oneOf(tenants);
        bases.push({ tenantId, id: (await app.createKnowledgeBase(inTenant(tenantId), { name: 'Base' })).id });
      },
      async ingest() {
        const base = oneOf(bases);
        const caller = callerFor(base);
        await app.ingestDocument(caller, { knowledgeBaseId: base.id, fileName: 'a', text: text() });
        const listed = await app.listKnowledgeDocuments(caller, base.id);
        documents.push(...listed.slice(0, 1).map(({ id }) => ({ tenantId: base.tenantId, id })));
      },
      async update() {
        const document = oneOf(documents);
        await app.updateKnowledgeDocumentText(callerFor(document), { id: document.id, text: text() });
      },
      async resync() {
        const document = oneOf(documents);
        await app.resyncKnowledgeDocument(callerFor(document), document.id);
      },
      async deleteDocument() {
        const document = oneOf(documents);
        await app.deleteKnowledgeDocument(callerFor(document), document.id);
      },
      async deleteBase() {
        const base = oneOf(bases);
        if (random() < 0.1) await app.deleteKnowledgeBase(callerFor(base), base.id);
      },
      sweep: () => app.sweep(),
    };
    const names = ['createBase', ...Array(4).fill('ingest'), 'update', 'update', 'resync', ...Object.keys(operations)];

    const wanted = ['ingest done', 'update done', 'resync done', 'deleteDocument done', 'ingest refused or failed'];
    const missing = () => wanted.filter((outcome) => !outcomes.has(outcome));
    async function worker(): Promise<void> {
      for (let n = 0; n < 40 || (n < 2_000 && missing().length > 0); n += 1) {
        const name = oneOf(names);
        const outcome = await operations[name]?.().then(
          () => 'done',
          () => 'refused or failed',
        );
        outcomes.set(`${name} ${outcome}`, (outcomes.get(`${name} ${outcome}`) ?? 0) + 1);
      }
    }
    await Promise.all([worker(), worker(), worker(), worker()]);
    t.deepEqual(missing(), []);

    app.ports.database = reliable;
    await assertConsistent(t, app);
    app.clock.offsetMs = 16 * 60_000;
    await app.sweep();
    await assertConsistent(t, app);
    await assertNothingLeftOver(t, app);
  });
}

async function select<Row>({ database }: KnowledgeApp, tenantId: number, sql: string): Promise<Row[]> {
  return database.transact(tenantId, async ({ knex }) => (await knex.raw(sql)).rows);
}

async function assertConsistent(t: ExecutionContext, app: KnowledgeApp): Promise<void> {
  for (const tenantId of tenants) {
    const [sums] = await select(
      app,
      tenantId,
      `SELECT (SELECT count(*)::int FROM knowledge_bases WHERE deleted_at IS NULL) AS knowledge_bases,
         coalesce(sum(chunk_count), 0)::int AS chunks, coalesce(sum(stored_bytes), 0)::int AS stored_bytes
         FROM knowledge_documents WHERE deleted_at IS NULL`,
    );
    t.deepEqual(await app.usage(tenantId), sums as never);
    const documents = await select<{ chunkCount: number; chunks: number; rawText: string; content: string }>(
      app,
      tenantId,
      `SELECT d.chunk_count, count(c.*)::int AS chunks, d.raw_text, string_agg(c.content, E'\\n\\n' ORDER BY chunk_index) AS content
         FROM knowledge_documents d LEFT JOIN knowledge_chunks c
           ON c.tenant_id = d.tenant_id AND c.document_id = d.id AND c.generation = d.generation
        WHERE d.deleted_at IS NULL GROUP BY d.id`,
    );
    for (const { chunkCount, chunks, rawText, content } of documents) {
      t.is(chunks, chunkCount);
      t.is(content, rawText.trim().replaceAll(/ +\n/gu, '\n'), 'the chunks are those of the text');
    }
  }
}

async function assertNothingLeftOver(t: ExecutionContext, app: KnowledgeApp): Promise<void> {
  for (const tenantId of tenants) {
    const orphans = await select(
      app,
      tenantId,
      `SELECT id FROM knowledge_chunks c WHERE NOT EXISTS (SELECT FROM knowledge_documents d
         WHERE d.id = c.document_id AND d.generation = c.generation AND d.deleted_at IS NULL)`,
    );
    t.deepEqual(orphans, []);
    t.deepEqual(await select(app, tenantId, 'SELECT id FROM knowledge_documents WHERE generation = 0'), []);
    t.deepEqual(await select(app, tenantId, 'SELECT document_id FROM unsearched_generations'), []);
  }
}

/** A database that fails some transactions, and loses the response to some commits. */
function unreliable(database: Database, random: () => number): Database {
  return {
    ...database,
    async transact(tenantId, work, options) {
      if (random() < 0.03) throw unavailable('not reached');
      const answer = await database.transact(tenantId, work, options);
      if (random() < 0.03) throw unavailable('the answer was lost');
      return answer;
    },
  };
}

/** Returns deterministic numbers in [0, 1) for a seed (mulberry32). */
function randomBy(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

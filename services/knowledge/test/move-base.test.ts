import { badRequest, notFound, unavailable } from '@parley/kernel/errors';
import { createLogger } from '@parley/kernel/telemetry/log';
import { rowsBy } from '@parley/postgres/database/rows';
import type { Database } from '@parley/postgres/database/types';
import { GetTenantResponse } from '@parley/protos/parley/identity/v1/identity';
import { eventually } from '@parley/testing/eventually';
import { onOneDatabase } from '@parley/testing/every-database';
import type { ExecutionContext } from 'ava';
import { baseModelStore } from '../src/bases/base-model-store.ts';
import { baseMoveStore } from '../src/bases/base-move-store.ts';
import { modelChange, moveBaseJob } from '../src/bases/move-base.ts';
import { type EmbedCall, type Embedder, type Embedding, EmbeddingsMisconfigured } from '../src/embeddings/embedder.ts';
import { halfvec } from '../src/embeddings/halfvec.ts';
import { embedOffline, offlineEmbeddingModel } from '../src/embeddings/offline-embedding.ts';
import { knowledgeSchema } from '../src/knowledge-schema.ts';
import { startEmbeddings } from './embeddings-server.ts';
import { retrievalUnit, userOf } from './retrieval-unit.ts';
import { skipAttempts, skipFailures } from './skip-attempts.ts';
import { storedChunks } from './stored-chunks.ts';

const earlier = 'an-earlier-model';
const later = 'text-embedding-3-small';
const subjects = ['otter', 'falcon', 'bee', 'glacier', 'harbour'];

const query = `query ($id: Int!, $query: String!) { retrieveChunks(knowledgeBaseId: $id, query: $query, topK: 20) { content score } }`;
const ingest = `mutation ($input: IngestDocumentInput!) { ingestDocument(input: $input) }`;

onOneDatabase(({ test, testSchema, replicaOf }) => {
  async function started(t: ExecutionContext) {
    const database = await testSchema(t, knowledgeSchema);
    const server = await startEmbeddings(t);
    const start = async (model: string) =>
      retrievalUnit(t, {
        database: await replicaOf(t, database, knowledgeSchema),
        env: { EMBEDDINGS_URL: server.url, EMBEDDINGS_MODEL: model },
      });
    const mine = storedChunks(database, 1);
    const base = await mine.base(earlier);
    await database.transact(1, (db) => baseModelStore(db).register(db, base, earlier, true));
    const stored = (content: string) => ({ content, vector: server.vectorOf(content, earlier) });
    const documents: number[] = [];
    for (const subject of subjects) {
      documents.push(
        await mine.document(base, [stored(`The ${subject}, its life`), stored(`The ${subject}, its end`)]),
      );
    }
    return { database, server, start, mine, base, documents, stored };
  }

  const modelOf = (database: Database, base: number) =>
    database.transact(1, async ({ knex }) => {
      const [row] = await rowsBy(knex)<{ embeddingModel: string }>(
        'SELECT embedding_model FROM knowledge_bases WHERE tenant_id = 1 AND id = :base',
        { base },
      );
      return row?.embeddingModel;
    });

  /** Returns the embedded text of a chunk in a document with the default name. */
  const named = (content: string) => `text\n\n${content}`;

  /**
   * Counts the chunks that a search reads (`all`), and how many of them have the vector that `vectorOf` returns for their text (`right`).
   */
  const searchedBy = (database: Database, vectorOf: (text: string) => Float32Array) =>
    database.transact(1, async ({ knex }) => {
      const rows = await rowsBy(knex)<{ content: string; id: number }>(
        `SELECT c.id, c.content FROM knowledge_chunks c JOIN knowledge_documents d
             ON d.id = c.document_id AND d.generation = c.generation AND d.deleted_at IS NULL
          WHERE c.tenant_id = :tenantId ORDER BY c.id`,
        { tenantId: 1 },
      );
      let right = 0;
      for (const { id, content } of rows) {
        const [same] = await rowsBy(knex)<{ same: boolean }>(
          `SELECT embedding = cast(:vector AS halfvec) AS same FROM knowledge_chunks WHERE tenant_id = 1 AND id = :id`,
          { id, vector: halfvec(vectorOf(content)) },
        );
        if (same?.same) right += 1;
      }
      return { right, all: rows.length };
    });

  test('bases of another model are embedded anew in the background and switched in one step; until then their old model is searched', async (t) => {
    const { database, server, start, base } = await started(t);
    const gate = server.hold('harbour');
    const { graph } = await start(later);
    await gate.reached;
    // At this point, every document except the last one is prepared for the new model.
    t.is(await modelOf(database, base), earlier);
    t.deepEqual(await searchedBy(database, (text) => server.vectorOf(text, earlier)), { right: 10, all: 10 });
    const before = await graph(userOf(1), query, { id: base, query: 'falcon' });
    t.is((before.data as { retrieveChunks: unknown[] }).retrieveChunks.length, 10);
    t.is(server.requests.at(-1)?.model, earlier);

    gate.open();
    await eventually('the base is moved', async () => (await modelOf(database, base)) === later);
    t.deepEqual(await searchedBy(database, (text) => server.vectorOf(named(text), later)), { right: 10, all: 10 });
    const { data } = await graph(userOf(1), query, { id: base, query: 'falcon' });
    t.is(server.requests.at(-1)?.model, later);
    t.like(data, { retrieveChunks: [{ content: 'The falcon, its end' }] });
  });

  test('documents stored, re-synced or deleted during a move always have the model of their base', async (t) => {
    const { database, server, start, base, documents, mine } = await started(t);
    const gate = server.hold('harbour');
    const { graph } = await start(later);
    await gate.reached;
    const { errors } = await graph(userOf(1), ingest, {
      input: { knowledgeBaseId: base, fileName: 'text.md', text: 'A new text about a lantern' },
    });
    t.is(errors, undefined);
    const sync = await graph(
      userOf(1),
      `mutation ($id: Int!) { updateKnowledgeDocumentText(id: $id, text: "An otter again") }`,
      {
        id: documents[0],
      },
    );
    t.is(sync.errors, undefined);
    await mine.deleteDocument(documents[1] ?? 0);
    t.like(await searchedBy(database, (text) => server.vectorOf(text, earlier)), { right: 6, all: 8 });
    t.like(await searchedBy(database, (text) => server.vectorOf(named(text), earlier)), { right: 2, all: 8 });
    gate.open();
    await eventually('the base is moved', async () => (await modelOf(database, base)) === later);
    t.deepEqual(await searchedBy(database, (text) => server.vectorOf(named(text), later)), { right: 8, all: 8 });
  });

  test('if the process ends during a move, the next one continues with the unprepared documents', async (t) => {
    const { database, server, start, base } = await started(t);
    const gate = server.hold('harbour');
    const { unit } = await start(later);
    await gate.reached;
    await unit.stop();
    gate.open();
    t.is(await modelOf(database, base), earlier);
    await start(later);
    await eventually('the base is moved', async () => (await modelOf(database, base)) === later);
    const embedded = server.requests.filter(({ model }) => model === later).flatMap(({ input }) => input);
    t.is(embedded.filter((text) => text.includes('otter')).length, 2);
    t.deepEqual(await searchedBy(database, (text) => server.vectorOf(named(text), later)), { right: 10, all: 10 });
  });

  test('generations prepared for a model that is no longer in use are dropped', async (t) => {
    const { database, server, start, base } = await started(t);
    const gate = server.hold('harbour', 'unwanted');
    const { unit } = await start('unwanted');
    await gate.reached;
    await unit.stop();
    gate.open();
    await start(later);
    await eventually('the base is moved', async () => (await modelOf(database, base)) === later);
    t.deepEqual(await searchedBy(database, (text) => server.vectorOf(named(text), later)), { right: 10, all: 10 });
  });

  test('a base whose model is no longer served is UNAVAILABLE with the reason until it is moved', async (t) => {
    const { database, server, start, base } = await started(t);
    server.absent.add(earlier);
    const gate = server.hold('otter');
    const { graph } = await start(later);
    await gate.reached;
    const { errors } = await graph(userOf(1), query, { id: base, query: 'falcon' });
    t.like(errors?.[0]?.extensions, { code: 'UNAVAILABLE' });
    t.regex(errors?.[0]?.message ?? '', /an-earlier-model is no longer served/u);
    gate.open();
    await eventually('the base is moved', async () => (await modelOf(database, base)) === later);
    t.is((await graph(userOf(1), query, { id: base, query: 'falcon' })).errors, undefined);
  });

  test('a document embedded for a model that is no longer in use is embedded again', async (t) => {
    const database = await testSchema(t, knowledgeSchema);
    const mine = storedChunks(database, 1);
    const base = await mine.base(earlier);
    await database.transact(1, (db) => baseModelStore(db).register(db, base, earlier, true));
    for (const subject of subjects) await mine.document(base, [`The ${subject}`]);
    const vectors: Record<string, Embedding> = { stale: embedOffline('one'), [later]: embedOffline('two') };
    let isFirst = true;
    const embedder: Embedder = {
      model: 'stale',
      async embed(texts, { model }) {
        if (isFirst) {
          isFirst = false;
          // Simulates another process that has taken over the move of the base.
          await database.transactShared((db) => baseModelStore(db).setModelInUse(later));
          await database.transact(1, (db) => baseMoveStore(db, base).prepareFor(later));
        }
        return { vectors: texts.map(() => vectors[model] as Embedding), tokensIn: 0, costUsdE8: 0n };
      },
    };
    await startMoving(t, { database, embedder });
    await eventually('the base has moved', async () => (await modelOf(database, base)) === later);
    const distances = await database.transact(1, ({ knex }) =>
      rowsBy(knex)<{ distance: number }>(
        `SELECT embedding <=> cast(:vector AS halfvec) AS distance FROM knowledge_chunks c
           JOIN knowledge_documents d ON d.tenant_id = c.tenant_id AND d.id = c.document_id AND d.generation = c.generation`,
        { vector: halfvec(vectors[later] as Embedding) },
      ),
    );
    t.is(distances.length, subjects.length);
    for (const { distance } of distances) t.true(Math.abs(distance) < 0.01, `${distance}`);
  });

  /** Creates a base with three documents and moves it with a scripted embedder. */
  async function scripted(t: ExecutionContext, embed: (texts: readonly string[]) => void | Promise<void>) {
    const database = await testSchema(t, knowledgeSchema);
    const mine = storedChunks(database, 1);
    const base = await mine.base(earlier);
    await database.transact(1, (db) => baseModelStore(db).register(db, base, earlier, true));
    for (const subject of ['otter', 'falcon', 'bee']) await mine.document(base, [`The ${subject}`]);
    const embedder: Embedder = {
      model: later,
      async embed(texts) {
        await embed(texts);
        return { vectors: texts.map(embedOffline), tokensIn: 0, costUsdE8: 0n };
      },
    };
    const jobsOf = () =>
      database.transactShared(async ({ knex }): Promise<{ state: string }[]> => knex('jobs').select('state'));
    const registered = () => database.transact(1, ({ knex }) => knex('knowledge_base_models').pluck('embeddingModel'));
    return { database, mine, base, embedder, jobsOf, registered };
  }

  for (const [what, failure, error, attempts] of [
    ['a text that the endpoint refuses', 'refused text', badRequest('too long', 'EMBEDDING_REFUSED'), 3],
    ['a key that it refuses', 'fault', unavailable('away', new EmbeddingsMisconfigured('settings', 'status 401')), 10],
  ] as const) {
    test(`with ${what} a base keeps its model after ${attempts} attempts, and the move is tried again at the next start`, async (t) => {
      let refused = 0;
      let refuses = true;
      const { database, base, embedder, jobsOf, registered } = await scripted(t, ([text]) => {
        if (!refuses || !text?.includes('falcon')) return;
        refused += 1;
        throw error;
      });
      const { failures, stop } = await startMoving(t, { database, embedder });
      const waits = () => skipFailures(database, 'knowledge.move-base', failure, attempts - 1);
      await eventually('it waits', waits);
      await eventually('it has failed', async () => (await jobsOf()).every(({ state }) => state === 'failed'));
      t.is(refused, 2);
      t.is(failures(), 1);
      t.is(await modelOf(database, base), earlier);
      t.deepEqual(await registered(), [earlier]);
      await stop();

      refuses = false;
      await startMoving(t, { database, embedder });
      await eventually('the base is moved', async () => (await modelOf(database, base)) === later);
      t.deepEqual(await searchedBy(database, (text) => embedOffline(named(text))), { right: 3, all: 3 });
    });
  }

  test('an outage does not count as an attempt for a text that the endpoint refuses', async (t) => {
    const failures = [unavailable('away'), badRequest('too long', 'EMBEDDING_REFUSED')];
    const { database, base, embedder } = await scripted(t, () => {
      const failure = failures.shift();
      if (failure) throw failure;
    });
    const { failures: givenUp } = await startMoving(t, { database, embedder });
    await eventually('it waits', () => skipAttempts(database, 'knowledge.move-base', 1_000));
    await eventually('the base is moved', async () => (await modelOf(database, base)) === later);
    t.is(givenUp(), 0);
  });

  test('if the base is deleted during its move, the move ends', async (t) => {
    const { database, mine, base, embedder, jobsOf, registered } = await scripted(t, async () => {
      await mine.deleteBase(base);
    });
    await startMoving(t, { database, embedder });
    await eventually('the job ends', async () => (await registered()).length === 0 && (await jobsOf()).length === 0);
    t.is(await modelOf(database, base), earlier);
  });

  test('bases of a suspended tenant are not moved', async (t) => {
    let isSuspended = false;
    const { database, base, embedder, jobsOf } = await scripted(t, () => {
      isSuspended = true;
    });
    let embedded = 0;
    const counted: Embedder = {
      ...embedder,
      embed(texts, call) {
        embedded += 1;
        return embedder.embed(texts, call);
      },
    };
    await startMoving(t, { database, embedder: counted, isSuspended: () => isSuspended });
    const waits = async () => embedded > 0 && (await jobsOf()).every(({ state }) => state === 'queued');
    await eventually('it waits after the first document', waits);
    t.is(embedded, 1);
    t.is(await modelOf(database, base), earlier);
    for (const count of [2, 3]) {
      isSuspended = false;
      await database.transactShared(({ knex }) => knex('jobs').update({ runAt: new Date() }));
      await eventually('one more document is embedded', () => embedded === count);
      await eventually('it waits', waits);
    }
    isSuspended = false;
    await database.transactShared(({ knex }) => knex('jobs').update({ runAt: new Date() }));
    await eventually('the base is moved', async () => (await modelOf(database, base)) === later);
  });

  test('a document that changes while it is embedded for another model is embedded again', async (t) => {
    const changed = 'The otter, which was changed';
    const { database, mine, base, embedder } = await scripted(t, async ([text]) => {
      if (text !== named('The otter')) return;
      const [id = 0] = await database.transact(1, ({ knex }) => knex('knowledge_documents').orderBy('id').pluck('id'));
      await mine.addGeneration(base, id, 9, [{ content: changed }]);
      await database.transact(1, ({ knex }) => knex('knowledge_documents').where({ id }).update({ generation: 9 }));
    });
    await startMoving(t, { database, embedder });
    await eventually('the base is moved', async () => (await modelOf(database, base)) === later);
    const searched = await database.transact(1, ({ knex }) =>
      rowsBy(knex)<{ content: string }>(
        `SELECT content FROM knowledge_chunks c JOIN knowledge_documents d ON d.id = c.document_id AND d.generation = c.generation
          WHERE c.tenant_id = :tenantId ORDER BY c.document_id`,
        { tenantId: 1 },
      ),
    );
    t.deepEqual(
      searched.map(({ content }) => content),
      [changed, 'The falcon', 'The bee'],
    );
  });

  test("passages embedded without their document's name are embedded anew, one document at a time, and charged to no tenant", async (t) => {
    const database = await testSchema(t, knowledgeSchema);
    const mine = storedChunks(database, 1);
    const base = await mine.base();
    await database.transact(1, (db) => baseModelStore(db).register(db, base, offlineEmbeddingModel, false));
    for (const subject of subjects) await mine.document(base, [`The ${subject}`], `About ${subject}s.md`);
    const calls: Pick<EmbedCall, 'chargedTo' | 'callId'>[] = [];
    const embedder: Embedder = {
      model: offlineEmbeddingModel,
      async embed(texts, { chargedTo, callId }) {
        calls.push({ chargedTo, callId });
        return { vectors: texts.map(embedOffline), tokensIn: 0, costUsdE8: 0n };
      },
    };
    const { stop } = await startMoving(t, { database, embedder });
    const isCurrent = () =>
      database.transact(1, async ({ knex }) => (await knex('knowledge_base_models').pluck('isCurrent'))[0] as boolean);
    await eventually('all are named', isCurrent);
    const namedBy = (content: string) => `About ${content.slice(4)}s\n\n${content}`;
    t.deepEqual(await searchedBy(database, (text) => embedOffline(namedBy(text))), { right: 5, all: 5 });
    t.is(calls.length, subjects.length);
    t.true(calls.every(({ chargedTo }) => chargedTo === 'platform'));
    t.is(new Set(calls.map(({ callId }) => callId)).size, calls.length);

    // Renames one document, and adds another one, as stored by a version of the service that did not embed names.
    await stop();
    await database.transact(1, ({ knex }) =>
      knex('knowledge_documents').where({ fileName: 'About bees.md' }).update({ fileName: 'Of bees.md' }),
    );
    t.false(await isCurrent());
    await mine.document(base, ['The heron'], 'About herons.md');
    await startMoving(t, { database, embedder });
    await eventually('all are named again', isCurrent);
    const renamed = (text: string) => namedBy(text).replace('About bees', 'Of bees');
    t.deepEqual(await searchedBy(database, (text) => embedOffline(renamed(text))), { right: 6, all: 6 });
    t.is(calls.length, subjects.length + 2);
  });

  test('if the tenant is deleted during a move, its moves end', async (t) => {
    let isThere = true;
    const { database, base, embedder, jobsOf, registered } = await scripted(t, () => {
      isThere = false;
      throw notFound('Tenant', 1);
    });
    await startMoving(t, { database, embedder, isThere: () => isThere });
    await eventually('the job ends', async () => (await registered()).length === 0 && (await jobsOf()).length === 0);
    t.is(await modelOf(database, base), earlier);
  });
});

/** Starts the moves of bases to another model, as the unit does. */
async function startMoving(
  t: ExecutionContext,
  {
    isThere = () => true,
    isSuspended = () => false,
    ...given
  }: { database: Database; embedder: Embedder; isThere?: () => boolean; isSuspended?: () => boolean },
) {
  let failures = 0;
  const log = createLogger('knowledge', { LOG_LEVEL: 'silent' });
  const ports = {
    ...given,
    log,
    failedMoves: { add: () => void (failures += 1) },
    identity: {
      getTenant: async () =>
        GetTenantResponse.fromPartial({ tenantId: 1, deleted: !isThere(), suspended: isSuspended() }),
    },
  };
  const parts = [moveBaseJob(ports).runner(ports), modelChange(ports)];
  const stop = async () => {
    for (const part of parts.toReversed()) await part.stop();
  };
  t.teardown(stop);
  for (const part of parts) await part.start();
  return { failures: () => failures, stop };
}

import { rowsBy } from '@parley/postgres/database/rows';
import type { Database, TenantDb } from '@parley/postgres/database/types';
import { onDatabaseServer } from '@parley/testing/every-database';
import { knowledgeSchema } from '../src/knowledge-schema.ts';
import {
  type ChunkSearch,
  findSearchedBases,
  searchByIndex,
  searchExactly,
  searchStatement,
  useIndex,
} from '../src/retrieval/base-search.ts';
import { clusteredVectors } from './clustered-vectors.ts';
import { storedChunks, tenantsOfOnePartition } from './stored-chunks.ts';

const topK = 20;
const perDocument = 100;
const live = 3_000;
const others = 1_500;
const queries = 40;

// These tests need a database server, because embedded databases have no index on vectors.
onDatabaseServer(({ test, testSchema }) => {
  /**
   * Fills a base, including deleted and re-synced documents. The same partition also contains another base of the tenant, and chunks of
   * another tenant.
   */
  async function filledBase(database: Database) {
    const vectors = clusteredVectors({ themes: 500, noises: 2 ** 16 });
    let documents = 0;
    const texts = (count: number) => {
      const vector = vectors.document(documents++);
      return Array.from({ length: count }, (_, at) => ({ content: `text ${at}`, vector: vector() }));
    };
    const mine = storedChunks(database, 1);
    const [, neighbour = 0] = await tenantsOfOnePartition(database, 2);
    const theirs = storedChunks(database, neighbour);
    const [id, other] = [await mine.base(), await mine.base()];
    const foreign = await theirs.base();
    const fill = async () => {
      for (let stored = 0; stored < live; stored += perDocument) {
        const document = await mine.document(id, texts(perDocument));
        if (stored % (5 * perDocument) === 0) {
          await mine.addGeneration(id, document, 2, texts(perDocument));
          await mine.switchTo(document, 2);
        }
        if (stored % (10 * perDocument) === 0) await mine.deleteDocument(await mine.document(id, texts(perDocument)));
      }
    };
    const fillOthers = async () => {
      for (let stored = 0; stored < others; stored += perDocument) {
        await theirs.document(foreign, texts(perDocument));
        if (stored % (3 * perDocument) === 0) await mine.document(other, texts(perDocument));
      }
    };
    await Promise.all([fill(), fillOthers()]);
    const [base] = await database.transact(1, (db) => findSearchedBases(db, [id], 1_000_000));
    if (!base) throw new Error('the base is gone');
    let asked = 0;
    const search = (terms?: string[]): ChunkSearch => {
      const question = vectors.document((asked++ * 7) % documents, 1);
      return { base, vector: question(), terms, topK };
    };
    return { base, search };
  }

  async function planOf(db: TenantDb, search: ChunkSearch, how: 'exact' | 'index'): Promise<string> {
    const { text, values } = searchStatement(db, search, how);
    const lines = await rowsBy(db.knex)<Record<string, string>>(`EXPLAIN ${text}`, values);
    return lines.map((line) => Object.values(line)[0]).join('\n');
  }

  test("recall@20 of the index is at least 0.98 among other tenants' chunks and among deleted and re-synced documents", async (t) => {
    t.timeout(300_000); // the index needs some milliseconds for each inserted chunk
    const database = await testSchema(t, knowledgeSchema);
    const { base, search } = await filledBase(database);
    t.is(base.chunks, live);
    let hits = 0;
    let given = 0;
    const ids = new Set<number>();
    for (let query = 0; query < queries; query += 1) {
      const asked = search();
      const exact = await database.read(1, (db) => searchExactly(db, asked));
      const byIndex = await database.transact(1, (db) => searchByIndex(db, asked));
      if (byIndex?.isEnough) given += 1;
      const found = new Map(byIndex?.chunks.map(({ chunkId, score }) => [chunkId, score]));
      for (const { chunkId, score } of exact ?? []) {
        if (found.get(chunkId) === score) hits += 1;
      }
      for (const id of found.keys()) ids.add(id);
      const scores = [...found.values()];
      t.deepEqual(
        scores,
        scores.toSorted((a, b) => b - a),
      );
    }
    t.log(`recall@20: ${hits / (queries * topK)}`);
    t.true(hits / (queries * topK) >= 0.98, `${hits} of ${queries * topK}`);
    t.is(given, queries);
    const basesOf = await database.transact(1, ({ knex }) =>
      knex('knowledge_chunks')
        .whereIn('id', [...ids])
        .distinct()
        .pluck('knowledgeBaseId'),
    );
    t.deepEqual(basesOf, [base.id]);
    const unsearched = await database.transact(1, ({ knex }) =>
      rowsBy(knex)(
        `SELECT c.id FROM knowledge_chunks c JOIN knowledge_documents d ON d.tenant_id = c.tenant_id AND d.id = c.document_id
          WHERE c.tenant_id = 1 AND c.id = ANY (cast(:ids AS integer[])) AND (deleted_at IS NOT NULL OR d.generation <> c.generation)`,
        { ids: [...ids] },
      ),
    );
    t.deepEqual(unsearched, [], 'of deleted documents and earlier generations nothing is found');

    const asked = search();
    const further = await database.transact(1, (db) => searchByIndex(db, { ...asked, topK: 100 }));
    const { chunkId = 0, content = '' } = further?.chunks.at(-1) ?? {};
    const number = content.replace('text ', '');
    const byWords = await database.transact(1, (db) => searchByIndex(db, { ...asked, terms: [`'${number}'`] }));
    const shown = byWords?.chunks ?? [];
    t.true(
      shown.some((chunk) => chunk.chunkId === chunkId),
      'words count among the nearest of the index',
    );
    t.is(shown.length, topK);

    const plans = await database.transact(1, async (db) => {
      const exact = [await planOf(db, search(), 'exact'), await planOf(db, search(['text']), 'exact')];
      await useIndex(db);
      const forced = await planOf(db, search(), 'exact');
      return {
        exact: [...exact, forced],
        index: [await planOf(db, search(), 'index'), await planOf(db, search(['text']), 'index')],
      };
    });
    const nearest =
      /Index Scan using knowledge_chunks_(p\d+)_embedding_idx on knowledge_chunks_p\d+ c .*\n\s*Order By/u;
    for (const plan of [...plans.exact, ...plans.index])
      t.is(new Set(plan.match(/knowledge_chunks_p\d+/gu)).size, 1, 'the partitions of other tenants are not read');
    for (const plan of plans.exact) {
      t.notRegex(plan, /embedding_idx/u);
      t.regex(plan, /hashed SubPlan/u, 'a chunk is not compared with each document, whatever the planner expects');
    }
    for (const plan of plans.index) {
      t.regex(plan, nearest);
      t.regex(plan, /Index Cond: \(\(tenant_id = 1\) AND \(id = c.document_id\)\)/u);
      // The plan was made for the service's own role, so the policy of row-level security is one of its filters.
      t.regex(plan, /current_setting\('parley.tenant'/u);
    }
  });
});

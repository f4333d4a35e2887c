import { clusteredVectors } from '@parley/knowledge/clustered-vectors';
import type { Embedding } from '@parley/knowledge/embedder';
import { embedOffline } from '@parley/knowledge/offline-embedding';
import { knowledgeSchema } from '@parley/knowledge/schema';
import { storedChunks } from '@parley/knowledge/stored-chunks';
import { openDatabase } from '@parley/postgres/database/open';
import { rowsBy } from '@parley/postgres/database/rows';
import type { Database } from '@parley/postgres/database/types';
import { Client } from 'pg';
import { atOnce } from './figures.ts';
import { passage } from './prose.ts';

/** A knowledge base; each has its own tenant. */
export interface Base {
  tenantId: number;
  chunks: number;
  /** Whether the base also contains deleted and re-synced documents. */
  isChanged: boolean;
  /** Whether the chunks are prose with the offline embedding. Otherwise, their vectors are random and clustered. */
  isProse?: boolean;
}

export interface StoredText {
  content: string;
  vector: Embedding;
}

const perDocument = 100;
const clustered = clusteredVectors();

/** Generates texts of a document. With another `stream`, the texts are questions about the document. */
export function textsOf({ chunks, isProse }: Base, document: number, stream = 0): () => StoredText {
  const number = chunks + document;
  if (isProse) {
    const next = passage(number, stream);
    return () => {
      const content = next();
      return { content, vector: embedOffline(content) };
    };
  }
  const next = clustered.document(number, stream);
  return () => ({ content: `passage of document ${document}`, vector: next() });
}

export const documentsOf = ({ chunks }: Base) => Math.ceil(chunks / perDocument);

/** Opens a database of the knowledge service in its own schema. Disposing of the returned object closes the database. */
export async function openKnowledge(url: string, schemaName: string): Promise<Database & AsyncDisposable> {
  const database = openDatabase({ url, schema: knowledgeSchema, schemaName, poolSize: 4 });
  await database.migrate();
  return { ...database, [Symbol.asyncDispose]: () => database.close() };
}

/** Returns the id of the base if the base is already stored. */
export async function findBase(database: Database, { tenantId }: Base): Promise<number | undefined> {
  const found = await database.read(tenantId, ({ knex }) =>
    rowsBy(knex)<{ id: number }>(`SELECT id FROM knowledge_bases WHERE tenant_id = :tenantId AND name = 'filled'`, {
      tenantId,
    }),
  );
  return found[0]?.id;
}

/** Drops the index if bases are missing, and stores the missing ones. Then builds the index if it does not exist. */
export async function fill(url: string, database: Database, bases: Base[], say: (text: string) => void): Promise<void> {
  const { schemaName } = database;
  await using index = await indexOf(url, schemaName);
  for (const base of bases) {
    if (await findBase(database, base)) continue;
    await index.drop();
    say(`${base.chunks} chunks`);
    await fillBase(database, base);
  }
  if (await index.exists()) return;
  say(`the index in ${schemaName}`);
  const chunks = bases.reduce((sum, base) => sum + base.chunks, 0);
  await index.build(Math.ceil(64 + chunks / 250));
}

/** Returns functions for the vector index of a schema, with the definition from the migrations. */
export async function indexOf(connectionString: string, schemaName: string) {
  const client = new Client({ connectionString });
  const name = `${schemaName}.knowledge_chunks_nearest`;
  await using migrated = await openKnowledge(connectionString, 'knowledge_migrated');
  await client.connect();
  const { rows } = await client.query('SELECT pg_get_indexdef(to_regclass($1)) AS text', [
    `${migrated.schemaName}.knowledge_chunks_nearest`,
  ]);
  const definition: string = rows[0].text.replace(` ON ONLY ${migrated.schemaName}.`, ` ON ${schemaName}.`);
  return {
    drop: () => client.query(`DROP INDEX IF EXISTS ${name}`),
    exists: async () => (await client.query('SELECT to_regclass($1) AS found', [name])).rows[0].found !== null,
    /**
     * Builds the index, which must not exist, and updates the planner's statistics. @param memoryMb the memory for the build in MB, which
     * should be enough for the whole graph
     */
    async build(memoryMb: number): Promise<void> {
      await client.query(`SET maintenance_work_mem = '${memoryMb}MB'`);
      await client.query(definition);
      await client.query(`ANALYZE ${schemaName}.knowledge_chunks, ${schemaName}.knowledge_documents`);
    },
    [Symbol.asyncDispose]: () => client.end(),
  };
}

async function fillBase(database: Database, base: Base): Promise<void> {
  const stored = storedChunks(database, base.tenantId);
  const id = await stored.base();
  let next = 0;
  await atOnce(2, async () => {
    while (next < documentsOf(base)) await storeDocument(next++);
  });
  await stored.renameBase(id, 'filled');

  async function storeDocument(number: number): Promise<void> {
    const text = textsOf(base, number);
    const count = Math.min(perDocument, base.chunks - number * perDocument);
    const texts = () => Array.from({ length: count }, text);
    const document = await stored.document(id, texts());
    if (!base.isChanged) return;
    if (number % 5 === 0) {
      await stored.addGeneration(id, document, 2, texts());
      await stored.switchTo(document, 2);
    }
    if (number % 10 === 0) await stored.deleteDocument(await stored.document(id, texts()));
  }
}

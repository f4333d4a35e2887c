import { chunkStore } from '@parley/knowledge/chunk-store';
import { clusteredVectors } from '@parley/knowledge/clustered-vectors';
import { storedChunks } from '@parley/knowledge/stored-chunks';
import type { Database } from '@parley/postgres/database/types';
import { type Figure, figure, median, medianOf, oneByOne, tookMs } from './figures.ts';
import { openKnowledge, withClient } from './knowledge-bases.ts';
import type { BenchOptions } from './processes.ts';
import { passage } from './prose.ts';

const tenantId = 1;
const perStatement = 100;
const index = 'knowledge_chunks_nearest';

/** Chunks stored a second: by the service's own store, and by the same rows with vectors as literals of text. */
export async function insertFigures(url: string, { rounds, short, say }: BenchOptions): Promise<Figure[]> {
  const database = await openKnowledge(url, 'bench_insert');
  const statements = short ? 1 : 20;
  const definition = await withClient(url, async (client) => {
    const { rows } = await client.query(
      `SELECT indexdef FROM pg_indexes WHERE schemaname = 'bench_insert' AND indexname = '${index}'`,
    );
    return rows[0].indexdef as string;
  });
  const execute = (sql: string) => withClient(url, (client) => client.query(sql));
  try {
    const plain = () => 'a passage';
    const long = longPassage();
    const rowsPerSecond = await inserter(database, statements);
    say(`chunks stored, ${rounds} rounds`);
    await execute(`DROP INDEX bench_insert.${index}`);
    const bare = async () => ({
      binary: await rowsPerSecond('binary', plain),
      text: await rowsPerSecond('text', plain),
      long: await rowsPerSecond('binary', long),
    });
    await bare(); // warm-up
    const all = await oneByOne(rounds, bare);
    await execute('TRUNCATE bench_insert.knowledge_chunks');
    await execute(definition);
    await rowsPerSecond('binary', long);
    const live = await oneByOne(rounds, () => rowsPerSecond('binary', long));
    return [
      figure(
        'chunks stored, vectors alone',
        medianOf(all, ({ binary }) => binary),
        '/s',
      ),
      figure(
        'chunks stored, vectors alone, as text literals',
        medianOf(all, ({ text }) => text),
        '/s',
      ),
      figure('binary over text', median(all.map(({ binary, text }) => binary / text)), '×', { atLeast: 5 }),
      figure(
        'chunks of 800 tokens stored',
        medianOf(all, ({ long: rate }) => rate),
        '/s',
      ),
      figure('the same into the live index', median(live), '/s'),
    ];
  } finally {
    await database.close();
  }
}

/** As long as the service's chunks. */
function longPassage(): () => string {
  const next = passage(1);
  return () => {
    let text = '';
    while (text.length < 3_200) text += `${next()} `;
    return text.slice(0, 3_200);
  };
}

async function inserter(database: Database, statements: number) {
  const stored = storedChunks(database, tenantId);
  const knowledgeBaseId = await stored.base();
  const documentId = await stored.document(knowledgeBaseId, []);
  const { document } = clusteredVectors();
  let generation = 1;

  return async (how: 'binary' | 'text', content: () => string): Promise<number> => {
    generation += 1;
    const vector = document(generation);
    const chunks = Array.from({ length: statements * perStatement }, (_, chunkIndex) => ({
      chunkIndex,
      content: content(),
      heading: '',
      page: null,
      embedding: vector(),
    }));
    const of = { knowledgeBaseId, documentId, generation };
    const ms = await tookMs(() =>
      oneByOne(statements, (n) => {
        const some = chunks.slice(n * perStatement, (n + 1) * perStatement);
        return database.transact(tenantId, (db) => {
          if (how === 'binary') return chunkStore(db).insert(of, some);
          const tuples = some.map(
            (chunk) =>
              `(${tenantId}, ${knowledgeBaseId}, ${documentId}, ${generation}, ${chunk.chunkIndex}, '${chunk.content}', '', NULL, '[${chunk.embedding.join(',')}]')`,
          );
          return db.knex.raw(
            `INSERT INTO knowledge_chunks (tenant_id, knowledge_base_id, document_id, generation, chunk_index, content, heading, page, embedding) VALUES ${tuples.join(', ')}`,
          );
        });
      }),
    );
    return (chunks.length * 1_000) / ms;
  };
}

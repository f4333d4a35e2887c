import { chunkStore } from '@parley/knowledge/chunk-store';
import { clusteredVectors } from '@parley/knowledge/clustered-vectors';
import { storedChunks } from '@parley/knowledge/stored-chunks';
import type { Database } from '@parley/postgres/database/types';
import { type Figure, figure, median, medianOf, oneByOne, tookMs } from './figures.ts';
import { indexOf, openKnowledge } from './knowledge-bases.ts';
import type { BenchOptions } from './processes.ts';
import { passage } from './prose.ts';

const tenantId = 1;
const perStatement = 100;
const schema = 'knowledge_insert';

/**
 * Measures how many chunks per second are stored in two ways: by the service's own store, and by INSERTs of the same rows with vectors as
 * text literals.
 */
export async function insertFigures(url: string, { rounds, short, say }: BenchOptions): Promise<Figure[]> {
  await using database = await openKnowledge(url, schema);
  await using index = await indexOf(url, schema);
  const rowsPerSecond = await inserter(database, short ? 1 : 20);
  const plain = () => 'a passage';
  const long = longPassage();
  const round = async () => ({
    binary: await rowsPerSecond('binary', plain),
    text: await rowsPerSecond('text', plain),
    long: await rowsPerSecond('binary', long),
  });
  say(`chunks stored, ${rounds} rounds`);
  await index.drop();
  await round(); // warm-up
  const all = await oneByOne(rounds, round);
  await index.build(64 + 60 * rounds);
  const live = await oneByOne(rounds, () => rowsPerSecond('binary', long));
  const rate = (which: 'binary' | 'text' | 'long') => medianOf(all, (each) => each[which]);
  return [
    figure('chunks stored, vectors alone', rate('binary'), '/s'),
    figure('chunks stored, vectors alone, as text literals', rate('text'), '/s'),
    figure('binary over text', median(all.map(({ binary, text }) => binary / text)), '×', { atLeast: 5 }),
    figure('chunks of 800 tokens stored', rate('long'), '/s'),
    figure(`chunks of 800 tokens stored with the index`, median(live), '/s'),
  ];
}

/** Generates passages as long as the service's chunks. */
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

import { offlineEmbeddingModel } from '@parley/knowledge/offline-embedding';
import { retrieveChunks } from '@parley/knowledge/retrieve-chunks';
import type { Database } from '@parley/postgres/database/types';
import { type Figure, figure, medianOf, oneByOne, quantile } from './figures.ts';
import { type Base, documentsOf, findBase, type StoredText, textsOf } from './knowledge-bases.ts';
import type { BenchOptions } from './processes.ts';

const topK = 20;
const exactly = 2 ** 31 - 2;
const byIndex = 1;

/** The time of a whole search by all chunks and by the index, and how many of the best chunks the index finds. */
export async function retrievalFigures(
  database: Database,
  base: Base,
  title: string,
  { rounds, short }: BenchOptions,
): Promise<Figure[]> {
  const { chunks } = base;
  const search = await searcher(database, base);
  const count = short ? 2 : chunks > 100_000 ? 20 : 100;
  const round = (index: number) =>
    oneByOne(count, async (n) => {
      const number = index * count + n;
      const text = textsOf(base, (number * 37) % documentsOf(base), 1 + number)();
      const exact = await search(text, exactly);
      const found = await search(text, byIndex);
      const shared = exact.keys.filter((key) => found.keys.includes(key)).length;
      return { exactMs: exact.ms, indexMs: found.ms, recall: shared / exact.keys.length };
    });
  await round(rounds); // warm-up
  const all = await oneByOne(rounds, round);
  const at = (q: number, which: 'exactMs' | 'indexMs') =>
    medianOf(all, (each) =>
      quantile(
        each.map((one) => one[which]),
        q,
      ),
    );
  const questions = all.flat();
  const recall = questions.reduce((sum, each) => sum + each.recall, 0) / questions.length;
  const name = `${chunks} chunks ${title}`;
  const leastMs = Math.min(at(0.5, 'exactMs'), at(0.5, 'indexMs'));
  return [
    figure(`${name}, exact, p50`, at(0.5, 'exactMs'), 'ms'),
    figure(`${name}, exact, p99`, at(0.99, 'exactMs'), 'ms'),
    figure(`${name}, by the index, p50`, at(0.5, 'indexMs'), 'ms'),
    figure(`${name}, by the index, p99`, at(0.99, 'indexMs'), 'ms'),
    figure(`${name}, the quicker of the two, p50`, leastMs, 'ms', goalOf(chunks)),
    figure(`${name}, recall@${topK} of the index`, recall, '×', { atLeast: chunks > 10_000 ? 0.95 : 0.98 }),
  ];
}

function goalOf(chunks: number): { goal?: number } {
  if (chunks > 100_000) return { goal: 15 };
  return { goal: chunks > 10_000 ? 8 : 6 };
}

/** Searches a base by the service's own use case, with an embedder that answers at once. */
async function searcher(database: Database, base: Base) {
  const knowledgeBaseId = await findBase(database, base);
  if (!knowledgeBaseId) throw new Error(`no base of ${base.chunks} chunks`);
  const caller = { kind: 'apiKey', tenantId: base.tenantId, apiKeyId: 1, requestId: 'bench' } as const;
  const { signal } = new AbortController();

  return async ({ content, vector }: StoredText, exactLimit: number) => {
    const embedder = {
      model: offlineEmbeddingModel,
      embed: async () => ({ vectors: [vector], tokensIn: 1, costUsdE8: 0n }),
    };
    const begunAt = performance.now();
    const asked = { knowledgeBaseId, query: content, topK };
    const found = await retrieveChunks({ database, embedder, exactLimit }, caller, asked, signal);
    const ms = performance.now() - begunAt;
    return { ms, keys: found.map(({ documentId, chunkIndex }) => `${documentId} ${chunkIndex}`) };
  };
}

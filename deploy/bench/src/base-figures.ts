import { readSettings } from '@parley/kernel/settings/config';
import { knowledgeSettings } from '@parley/knowledge/config';
import { offlineEmbeddingModel } from '@parley/knowledge/offline-embedding';
import { retrieveChunks } from '@parley/knowledge/retrieve-chunks';
import { workQueues } from '@parley/knowledge/work-queues';
import type { Database } from '@parley/postgres/database/types';
import { type Figure, figure, medianOf, oneByOne, quantile } from './figures.ts';
import { type Base, documentsOf, findBase, type StoredText, textsOf } from './knowledge-bases.ts';
import type { BenchOptions } from './processes.ts';

interface Answer {
  ms: number;
  /** The keys of the chunks that the search found. */
  keys: string[];
}

type RetrievalMode = 'COSINE' | 'HYBRID';

const topK = 20;
const exactly = 2 ** 31 - 2;
const byIndex = 1;
const { exactLimit } = readSettings({}, { exactLimit: knowledgeSettings.exactLimit });
/** Number of warm-up queries. After these, the often-read pages of the index are in memory. */
const warmUpQuestions = 200;

/**
 * Measures the durations of whole searches, first by a comparison with all chunks and then by the index. Also measures which share of the
 * best chunks the index finds. For prose, also measures how much longer a search with keywords takes.
 */
export async function baseFigures(
  database: Database,
  base: Base,
  { rounds, short, title, isAlone }: BenchOptions & { title: string; isAlone: boolean },
): Promise<Figure[]> {
  const { chunks } = base;
  const search = await searcher(database, base);
  const count = short ? 2 : chunks > 100_000 ? 50 : 100;
  const question = (number: number) => textsOf(base, (number * 37) % documentsOf(base), 1 + number)();
  const ask = (from: number, many: number, limit: number, mode: RetrievalMode = 'COSINE') =>
    oneByOne(many, (n) => search(question(from + n), limit, mode));
  const asRounds = (limit: number) => oneByOne(rounds, (round) => ask(round * count, count, limit));
  const name = `${chunks} chunks ${title}`;
  const figures: Figure[] = [];
  const times = (how: string, answers: Answer[][], goal: { goal?: number }) => {
    const at = (q: number) => medianOf(answers, (round) => msAt(round, q));
    figures.push(figure(`${name}, ${how}, p50`, at(0.5), 'ms', goal), figure(`${name}, ${how}, p99`, at(0.99), 'ms'));
  };
  /** Measures searches with keywords (`HYBRID`), and compares them with vector searches alone. */
  const byWords = async (how: string, limit: number) => {
    if (!base.isProse) return;
    await ask(rounds * count, count, limit, 'HYBRID');
    const pairs = await oneByOne(rounds, async (round) => ({
      cosine: await ask(round * count, count, limit),
      hybrid: await ask(round * count, count, limit, 'HYBRID'),
    }));
    const ratio = medianOf(pairs, ({ cosine, hybrid }) => msAt(hybrid, 0.5) / msAt(cosine, 0.5));
    times(
      `${how}, HYBRID`,
      pairs.map(({ hybrid }) => hybrid),
      {},
    );
    figures.push(figure(`${name}, ${how}, HYBRID over COSINE, p50`, ratio, '×'));
  };

  // For a small base, the service compares the query with all chunks. For a large base, such a comparison is slow; the bench makes it only
  // to get the reference with which the index is compared.
  const isSmall = chunks <= exactLimit;
  if (isSmall) await ask(rounds * count, count, exactly);
  const exact = isSmall ? await asRounds(exactly) : [await ask(0, count, exactly)];
  times('exact', exact, isSmall ? goalOf(chunks) : {});
  if (isSmall) await byWords('exact', exactly);
  // Does not measure the index: the service never uses it for a small base, and if the base's partition contains other bases, too, the
  // measurement would be slow.
  if (isSmall && !isAlone) return figures;
  await ask(rounds * count, short ? count : warmUpQuestions, byIndex);
  const indexed = await asRounds(byIndex);
  times('by the index', indexed, isSmall ? {} : goalOf(chunks));
  if (!isSmall) await byWords('by the index', byIndex);
  const recalls = exact.flat().map(({ keys }, at) => {
    const found = new Set(indexed.flat()[at]?.keys);
    return keys.filter((key) => found.has(key)).length / keys.length;
  });
  const recall = recalls.reduce((sum, each) => sum + each, 0) / recalls.length;
  const atLeast = chunks > 10_000 ? 0.95 : 0.98;
  return [...figures, figure(`${name}, recall@${topK} of the index`, recall, '×', { atLeast })];
}

function msAt(answers: Answer[], q: number): number {
  return quantile(
    answers.map(({ ms }) => ms),
    q,
  );
}

function goalOf(chunks: number): { goal: number } {
  if (chunks > 100_000) return { goal: 15 };
  return { goal: chunks > 10_000 ? 8 : 6 };
}

/** Returns a function that searches a base with the service's own use case and an embedder that responds at once. */
async function searcher(database: Database, base: Base) {
  const knowledgeBaseId = await findBase(database, base);
  if (!knowledgeBaseId) throw new Error(`no base of ${base.chunks} chunks`);
  const caller = { kind: 'apiKey', tenantId: base.tenantId, apiKeyId: 1, requestId: 'bench' } as const;
  const request = { caller, signal: new AbortController().signal };
  const queues = workQueues();

  return async ({ content, vector }: StoredText, limit: number, mode: RetrievalMode): Promise<Answer> => {
    const embedder = {
      model: offlineEmbeddingModel,
      embed: async () => ({ vectors: [vector], tokensIn: 1, costUsdE8: 0n }),
    };
    const begunAt = performance.now();
    // The first sentence of a passage serves as the query: it is about as long as a person's question.
    const asked = { knowledgeBaseId, query: content.slice(0, content.indexOf('.') + 1) || content, topK, mode };
    const found = await retrieveChunks({ database, embedder, exactLimit: limit, queues }, request, asked);
    const ms = performance.now() - begunAt;
    return { ms, keys: found.map(({ documentId, chunkIndex }) => `${documentId} ${chunkIndex}`) };
  };
}

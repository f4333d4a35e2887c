import type { TenantRequest } from '@parley/kernel/caller-request';
import { invalid, isDomainError, unavailable } from '@parley/kernel/errors';
import { isShapeless } from '@parley/kernel/input-checks';
import type { Metrics } from '@parley/kernel/telemetry/metrics';
import { within } from '@parley/kernel/timing/timers';
import { type EmbeddingUsage, RetrievalMode, type RetrieveRequest } from '@parley/protos/parley/knowledge/v1/knowledge';
import type { Ports } from '../ports.ts';
import type { FoundChunk } from './base-search.ts';
import { type RetrievalPorts, retrieval } from './retrieve.ts';
import { maxQueryCharacters, maxTopK } from './retrieve-chunks.ts';

const maxBases = 5;

export interface RetrievedPassages {
  passages: FoundChunk[];
  usage: EmbeddingUsage;
  /** Whether the search failed in all bases after the query was embedded. */
  searchFailed: boolean;
}

export function failedSearches(metrics: Metrics): Ports['failedSearches'] {
  return metrics.counter('parley_knowledge_searches_failed_total', 'Bases that a search was answered without');
}

/**
 * Finds the best passages of several bases. All bases are searched at once, so that a base that does not respond does not delay the others.
 * Deleted bases are skipped. A base that fails or times out is skipped if another base succeeds. If all bases fail after the query was
 * embedded at a cost, a result without passages is returned, so that the caller can count the usage.
 * @throws the errors of `Embedder.embed`
 */
export async function retrievePassages(
  ports: RetrievalPorts & Pick<Ports, 'log' | 'failedSearches'>,
  { caller, signal }: TenantRequest,
  { knowledgeBaseIds, topK, mode, callId, agentId, sessionId, timeLimitMs, ...asked }: RetrieveRequest,
): Promise<RetrievedPassages> {
  const query = Array.from(asked.query.slice(0, 2 * maxQueryCharacters))
    .slice(0, maxQueryCharacters)
    .join('');
  const ids = [...new Set(knowledgeBaseIds)];
  if (isShapeless(query)) throw invalid({ path: 'query', message: 'must not be blank' });
  if (ids.length === 0 || ids.length > maxBases) {
    throw invalid({ path: 'knowledge_base_ids', message: `must name 1 to ${maxBases} bases` });
  }
  if (topK < 1 || topK > maxTopK) throw invalid({ path: 'top_k', message: `must be between 1 and ${maxTopK}` });
  const over = new AbortController();
  const { search, usage: usageOf } = retrieval(
    ports,
    { caller, signal: AbortSignal.any([signal, over.signal]) },
    {
      query,
      topK,
      mode: mode === RetrievalMode.RETRIEVAL_MODE_HYBRID ? 'HYBRID' : 'COSINE',
      callId: callId || undefined,
      agentId,
      sessionId,
    },
  );
  const late = () => {
    const error = unavailable('The knowledge base was not searched in time');
    over.abort(error);
    return error;
  };
  const searches = await Promise.allSettled(
    search(ids).map((found) => (timeLimitMs > 0 ? within(timeLimitMs, late, found) : found)),
  );
  signal.throwIfAborted();
  const usage = await usageOf();
  const bases: FoundChunk[][] = [];
  let failure: Error | undefined;
  for (const [n, searched] of searches.entries()) {
    if (searched.status === 'fulfilled') {
      if (searched.value) bases.push(searched.value);
      continue;
    }
    const err: unknown = searched.reason;
    if (isDomainError(err, 'invalid') && err.reason === 'SPEND_CAP_REACHED') throw err;
    ports.failedSearches.add();
    failure ??= err instanceof Error ? err : new Error(String(err));
    ports.log.warn(
      { err, knowledgeBaseId: ids[n], agentId, sessionId },
      'knowledge base not searched; answering without',
    );
  }
  if (bases.length === 0 && failure) {
    if (usage.tokensIn === 0 || isDomainError(failure, 'invalid')) throw failure;
    return { passages: [], usage, searchFailed: true };
  }
  const found = bases.filter(({ length }) => length > 0);
  // Ranks by words are comparable only within one base, so passages of several bases are compared by similarity.
  if (found.length === 1) return { passages: found.flat(), usage, searchFailed: false };
  const all = found.flat().toSorted((a, b) => b.score - a.score || a.chunkId - b.chunkId);
  return { passages: all.slice(0, topK), usage, searchFailed: false };
}

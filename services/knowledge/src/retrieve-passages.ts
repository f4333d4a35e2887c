import type { TenantCaller } from '@parley/kernel/caller';
import { invalid, isDomainError } from '@parley/kernel/errors';
import { type EmbeddingUsage, RetrievalMode, type RetrieveRequest } from '@parley/protos/parley/knowledge/v1/knowledge';
import type { FoundChunk } from './base-search.ts';
import type { Ports } from './ports.ts';
import { retrieval } from './retrieve.ts';
import { maxQueryCharacters, maxTopK } from './retrieve-chunks.ts';

const maxBases = 5;

export interface RetrievedPassages {
  passages: FoundChunk[];
  usage: EmbeddingUsage;
  /** After the query was embedded. */
  searchFailed: boolean;
}

/**
 * The passages of several bases, the best of all first. Those that are gone are passed over. Once the query is embedded a search that
 * fails has an answer, so that whoever asked can count what it took. @throws DomainError as `Embedder.embed`
 */
export async function retrievePassages(
  ports: Pick<Ports, 'database' | 'embedder' | 'exactLimit' | 'log'>,
  caller: TenantCaller,
  { knowledgeBaseIds, topK, mode, callId, agentId, sessionId, ...asked }: RetrieveRequest,
  signal: AbortSignal,
): Promise<RetrievedPassages> {
  const query = Array.from(asked.query.slice(0, 2 * maxQueryCharacters))
    .slice(0, maxQueryCharacters)
    .join('');
  const ids = [...new Set(knowledgeBaseIds)];
  if (query.trim() === '') throw invalid({ path: 'query', message: 'must not be blank' });
  if (ids.length === 0 || ids.length > maxBases) {
    throw invalid({ path: 'knowledge_base_ids', message: `must name 1 to ${maxBases} bases` });
  }
  if (topK < 1 || topK > maxTopK) throw invalid({ path: 'top_k', message: `must be between 1 and ${maxTopK}` });
  const { search, usage } = retrieval(ports, caller, {
    query,
    topK,
    mode: mode === RetrievalMode.RETRIEVAL_MODE_HYBRID ? 'HYBRID' : 'COSINE',
    callId: callId || undefined,
    agentId,
    sessionId,
    signal,
  });
  const bases: FoundChunk[][] = [];
  try {
    for (const id of ids) bases.push((await search(id)) ?? []);
  } catch (err) {
    if (usage.tokensIn === 0 || signal.aborted || isDomainError(err, 'invalid')) throw err;
    ports.log.warn({ err, agentId, sessionId }, 'bases not searched, although the query was embedded');
    return { passages: [], usage, searchFailed: true };
  }
  const found = bases.filter(({ length }) => length > 0);
  // A rank by words counts within its base only, so several bases are compared by similarity.
  if (found.length === 1) return { passages: found.flat(), usage, searchFailed: false };
  const all = found.flat().toSorted((a, b) => b.score - a.score || a.chunkId - b.chunkId);
  return { passages: all.slice(0, topK), usage, searchFailed: false };
}

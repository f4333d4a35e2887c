import { randomUUID } from 'node:crypto';
import type { TenantRequest } from '@parley/kernel/caller-request';
import { unavailable } from '@parley/kernel/errors';
import { within } from '@parley/kernel/timing/timers';
import type { EmbeddingUsage } from '@parley/protos/parley/knowledge/v1/knowledge';
import type { Embedding, EmbeddingSpend } from '../embeddings/embedder.ts';
import type { RetrievalMode } from '../generated/schema.ts';
import { embedWhole } from '../indexing/embed-passages.ts';
import type { Ports } from '../ports.ts';
import { type FoundChunk, findSearchedBases, type SearchedBase, searchByIndex, searchExactly } from './base-search.ts';
import { searchTerms } from './search-terms.ts';

export interface Question {
  query: string;
  topK: number;
  mode: RetrievalMode;
  /** Identifies the search in the ledger. Default: random. */
  callId?: string | undefined;
  agentId?: number | undefined;
  sessionId?: number | undefined;
}

export type RetrievalPorts = Pick<Ports, 'database' | 'embedder' | 'exactLimit' | 'queues'>;

/** Maximum attempts of a search. A search must be repeated if the base moves to another model meanwhile. */
const attempts = 3;
/**
 * How long to wait for an aborted embedding to report its usage, in ms. An embedding that takes longer is still queued and has used
 * nothing.
 */
const abortMs = 200;
/** The ledger accepts ids of up to 200 characters. A query that is embedded in pieces needs the rest for the number of each piece. */
const maxCallId = 190;

export function retrieval(
  { database, embedder, exactLimit, queues }: RetrievalPorts,
  request: TenantRequest,
  question: Question,
) {
  const { query, topK, mode, callId = randomUUID(), agentId, sessionId } = question;
  const { caller, signal } = request;
  const { tenantId } = caller;
  const vectors = new Map<string, Promise<Embedding>>();
  const spent: EmbeddingSpend = { tokensIn: 0, costUsdE8: 0n };
  const terms = mode === 'HYBRID' ? searchTerms(query) : undefined;

  async function vectorBy(model: string): Promise<Embedding> {
    const call = {
      caller,
      model,
      callId: `${callId} ${model}`.slice(0, maxCallId),
      agentId,
      sessionId,
      signal,
      onSpent,
    };
    return embedWhole(embedder, query, call);
  }

  function onSpent({ tokensIn, costUsdE8 }: EmbeddingSpend): void {
    spent.tokensIn += tokensIn;
    spent.costUsdE8 += costUsdE8;
  }

  async function search(base: SearchedBase, vector: Embedding): Promise<FoundChunk[] | undefined> {
    const asked = { base, vector, terms, topK };
    if (base.chunks > exactLimit) {
      const found = await database.transact(tenantId, (db) => searchByIndex(db, asked));
      if (!found || found.isEnough) return found?.chunks;
    }
    return database.read(tenantId, (db) => searchExactly(db, asked));
  }

  function find(ids: readonly number[]): Promise<SearchedBase[]> {
    return queues.readBase(request, () => database.read(tenantId, (db) => findSearchedBases(db, ids, exactLimit + 1)));
  }

  async function searchBase(id: number, bases: Promise<SearchedBase[]>): Promise<FoundChunk[] | undefined> {
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const base = (await (attempt === 0 ? bases : find([id]))).find((each) => each.id === id);
      if (!base) return undefined;
      const { embeddingModel: model } = base;
      const vectorOfModel = vectors.get(model) ?? vectorBy(model);
      vectors.set(model, vectorOfModel);
      const vector = await vectorOfModel;
      const found = await queues.readBase(request, () => search(base, vector));
      if (found) return found;
    }
    throw unavailable('The embedding model of the knowledge base changes again and again');
  }

  return {
    /** Returns the usage of all embeddings so far. Waits briefly for embeddings that were just aborted. */
    async usage(): Promise<EmbeddingUsage> {
      await within(abortMs, 'Ending the embeddings', Promise.allSettled(vectors.values())).catch(() => undefined);
      return spent;
    },
    /** Searches each base, best chunk first. Resolves to undefined for a base that is absent, deleted or of another tenant. */
    search(knowledgeBaseIds: readonly number[]): Promise<FoundChunk[] | undefined>[] {
      // One look-up for all bases, so that all bases of one search are queued before the bases of a later search.
      const bases = find(knowledgeBaseIds);
      return knowledgeBaseIds.map((id) => searchBase(id, bases));
    },
  };
}

import { randomUUID } from 'node:crypto';
import type { TenantCaller } from '@parley/kernel/caller';
import { unavailable } from '@parley/kernel/errors';
import type { EmbeddingUsage } from '@parley/protos/parley/knowledge/v1/knowledge';
import { type FoundChunk, findSearchedBase, type SearchedBase, searchByIndex, searchExactly } from './base-search.ts';
import type { Embedded, Embedding } from './embedder.ts';
import type { RetrievalMode } from './generated/schema.ts';
import type { Ports } from './ports.ts';
import { searchTerms } from './search-terms.ts';

export interface Question {
  query: string;
  topK: number;
  mode: RetrievalMode;
  /** Default: random. */
  callId?: string | undefined;
  agentId?: number | undefined;
  sessionId?: number | undefined;
  signal: AbortSignal;
}

type RetrievalPorts = Pick<Ports, 'database' | 'embedder' | 'exactLimit'>;

/** The base may get another model meanwhile, once. */
const attempts = 3;
/** As the ledger takes them. */
const maxCallId = 200;

export function retrieval(
  { database, embedder, exactLimit }: RetrievalPorts,
  caller: TenantCaller,
  question: Question,
) {
  const { query, topK, mode, callId = randomUUID(), agentId, sessionId, signal } = question;
  const { tenantId } = caller;
  const vectors = new Map<string, Promise<Embedding>>();
  const usage: EmbeddingUsage = { tokensIn: 0, costUsdE8: 0n };
  const terms = mode === 'HYBRID' ? searchTerms(query) : undefined;

  function vectorBy(model: string): Promise<Embedding> {
    const call = { caller, model, callId: `${callId} ${model}`.slice(0, maxCallId), agentId, sessionId, signal };
    const vector = vectors.get(model) ?? embedder.embed([query], call).then(counted);
    vectors.set(model, vector);
    return vector;
  }

  function counted({ vectors: [only], tokensIn, costUsdE8 }: Embedded): Embedding {
    if (!only) throw new TypeError('no vector for the query');
    usage.tokensIn += tokensIn;
    usage.costUsdE8 += costUsdE8;
    return only;
  }

  async function search(base: SearchedBase, vector: Embedding): Promise<FoundChunk[] | undefined> {
    const asked = { base, vector, terms, topK };
    if (base.chunks > exactLimit) {
      const found = await database.transact(tenantId, (db) => searchByIndex(db, asked));
      if (!found || found.isEnough) return found?.chunks;
    }
    return database.read(tenantId, (db) => searchExactly(db, asked));
  }

  return {
    /** Of all searches so far. */
    usage,
    /** The best first; undefined where the base is absent, deleted or another tenant's. */
    async search(knowledgeBaseId: number): Promise<FoundChunk[] | undefined> {
      for (let attempt = 0; attempt < attempts; attempt += 1) {
        const base = await database.read(tenantId, (db) => findSearchedBase(db, knowledgeBaseId, exactLimit + 1));
        if (!base) return undefined;
        const found = await search(base, await vectorBy(base.embeddingModel));
        if (found) return found;
      }
      throw unavailable('The embedding model of the knowledge base changes again and again');
    },
  };
}

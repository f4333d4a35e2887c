import type { TenantCaller } from '@parley/kernel/caller';
import { isDomainError } from '@parley/kernel/errors';

export const dimensions = 768;

/** Unit vectors of 768 numbers. */
export type Embedding = Float32Array;

export interface EmbedCall {
  caller: TenantCaller;
  /** Of an earlier `Embedder.model`, or the one in use. */
  model: string;
  /** Unique to these texts: they are metered once for it. */
  callId: string;
  agentId?: number | undefined;
  sessionId?: number | undefined;
  signal?: AbortSignal | undefined;
}

export interface Embedded {
  /** One per text, in their order. */
  vectors: Embedding[];
  tokensIn: number;
  costUsdE8: bigint;
}

/** Turns texts into vectors, metered in the tenant's ledger as `embed`. */
export interface Embedder {
  /** What new bases are embedded with, e.g. `text-embedding-3-small` or `offline-embedding-1`. */
  readonly model: string;
  /** Any number of texts. @throws DomainError `invalid` (`SPEND_CAP_REACHED`); `unavailable`: the endpoint does not answer, or no longer serves this model */
  embed(texts: readonly string[], call: EmbedCall): Promise<Embedded>;
}

/** The cause of an `unavailable` that the operator has to end: a refused key, or an address or model that gives no such vectors. */
export class EmbeddingsMisconfigured extends Error {
  override name = 'EmbeddingsMisconfigured';
}

export function isMisconfigured(error: unknown): boolean {
  return isDomainError(error, 'unavailable') && error.cause instanceof EmbeddingsMisconfigured;
}

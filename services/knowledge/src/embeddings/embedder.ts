import type { TenantCaller } from '@parley/kernel/caller';
import { isDomainError } from '@parley/kernel/errors';

export const dimensions = 768;

/** Unit vectors of 768 numbers. */
export type Embedding = Float32Array;

export interface EmbedCall {
  caller: TenantCaller;
  /** The current `Embedder.model` or an earlier one. */
  model: string;
  /** Unique to these texts: they are metered once for it. */
  callId: string;
  /** Default: the caller's tenant, as `embed`. Work that the operator causes is the platform's, as `reembed`: no cap of a tenant bounds it. */
  chargedTo?: 'tenant' | 'platform' | undefined;
  agentId?: number | undefined;
  sessionId?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Called once with the metered usage, even if the call fails or is aborted. */
  onSpent?: ((spent: EmbeddingSpend) => void) | undefined;
}

export interface EmbeddingSpend {
  tokensIn: number;
  costUsdE8: bigint;
}

export interface Embedded extends EmbeddingSpend {
  /** One vector per text, in order. */
  vectors: Embedding[];
}

/** Turns texts into vectors, metered as `embed`. */
export interface Embedder {
  /** The model for new bases, e.g. `text-embedding-3-small` or `offline-embedding-1`. */
  readonly model: string;
  /** Maximum tokens of a text for this model; undefined if unknown. */
  maxTokens?(model: string): number | undefined;
  /**
   * Any number of texts. @throws DomainError `invalid` (`SPEND_CAP_REACHED`; `EMBEDDING_TOO_LONG`: one of the texts is, `EMBEDDING_REFUSED`: the
   * endpoint does not say why); `unavailable`: the endpoint does not answer, or no longer serves this model
   */
  embed(texts: readonly string[], call: EmbedCall): Promise<Embedded>;
}

/** What the operator has to correct: the settings (key, address or model), or an account without credit or quota. */
export type Misconfiguration = 'settings' | 'account';

/** The cause of an `unavailable` that the operator has to end. */
export class EmbeddingsMisconfigured extends Error {
  override name = 'EmbeddingsMisconfigured';
  readonly what: Misconfiguration;

  constructor(what: Misconfiguration, message: string) {
    super(message);
    this.what = what;
  }
}

export function misconfigurationOf(error: unknown): Misconfiguration | undefined {
  if (!isDomainError(error, 'unavailable')) return undefined;
  return error.cause instanceof EmbeddingsMisconfigured ? error.cause.what : undefined;
}

import type { TenantCaller } from '@parley/kernel/caller';
import { isDomainError } from '@parley/kernel/errors';

export const dimensions = 768;

/** Unit vectors of 768 numbers. */
export type Embedding = Float32Array;

export interface EmbedCall {
  caller: TenantCaller;
  /** The model to embed with: the current `Embedder.model` or an earlier one. */
  model: string;
  /** An id that is unique to these texts. The ledger counts a call once per id. */
  callId: string;
  /**
   * Who pays for the call. Default: `tenant`, counted as `embed`. `platform` is for work that the operator causes, counted as `reembed` and
   * not bounded by a tenant's cap.
   */
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
  /** One vector per text, in the order of the texts. */
  vectors: Embedding[];
}

/** Embeds texts as vectors and meters each call in the ledger. */
export interface Embedder {
  /** The model for new bases, e.g. `text-embedding-3-small` or `offline-embedding-1`. */
  readonly model: string;
  /** Maximum tokens of a text for this model; undefined if unknown. */
  maxTokens?(model: string): number | undefined;
  /**
   * Embeds any number of texts.
   * @throws DomainError `invalid` with `SPEND_CAP_REACHED` if the tenant has reached its monthly cap
   * @throws DomainError `invalid` with `EMBEDDING_TOO_LONG` if one of the texts is too long
   * @throws DomainError `invalid` with `EMBEDDING_REFUSED` if the endpoint refuses a text without a reason
   * @throws DomainError `unavailable` if the endpoint does not respond, or no longer serves this model
   */
  embed(texts: readonly string[], call: EmbedCall): Promise<Embedded>;
}

/** What the operator must correct: the settings (key, address or model), or an account without credit or quota. */
export type Misconfiguration = 'settings' | 'account';

/** The cause of an `unavailable` error that only the operator can correct. */
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

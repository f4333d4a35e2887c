import { unavailable } from '@parley/kernel/errors';
import type { Part } from '@parley/kernel/processes/unit';
import { type FairQueue, fairQueue } from '@parley/kernel/queues/fair-queue';
import type { ValuesOf } from '@parley/kernel/settings/settings';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { Metrics } from '@parley/kernel/telemetry/metrics';
import { costUsdE8 } from '@parley/metering/model-price';
import { platform, type SpendMeter } from '@parley/metering/spend-meter';
import { strictTokenBound, usualTokenBound } from '@parley/text/token-bound';
import { estimateTokens } from '@parley/text/token-estimate';
import type { Embedded, Embedder, Embedding } from './embedder.ts';
import { embeddingMetrics } from './embedding-metrics.ts';
import type { embeddingSettings } from './embedding-settings.ts';
import { type EmbeddingsEndpoint, embeddingsEndpoint } from './embeddings-endpoint.ts';
import { offlineEmbedder } from './offline-embedder.ts';
import { offlineEmbeddingModel } from './offline-embedding.ts';

export type EmbeddingSettings = ValuesOf<typeof embeddingSettings>;

interface MeteredEmbedderOptions {
  settings: EmbeddingSettings;
  meter: Pick<SpendMeter, 'open'>;
  development: boolean;
  log: Pick<Logger, 'info' | 'warn' | 'error'>;
  metrics: Metrics;
}

interface Batch {
  texts: readonly string[];
  tokenBound: number;
}

interface Source {
  providerId: 'EMBEDDINGS' | 'OFFLINE';
  /** Embeds texts. Calls `sent` when the texts are sent; until then they may be queued. */
  embed(texts: readonly string[], tenantId: number, signal: AbortSignal | undefined, sent: () => void): Promise<Answer>;
}

interface Answer {
  vectors: Embedding[];
  tokensIn: number | undefined;
}

// allow-name embed: the operation's name in the ledger
export const operations = { tenant: 'embed', platform: 'reembed' } as const;
const maxBatchTexts = 100;
const maxBatchTokens = 200_000;
/**
 * Texts that are longer than this, in UTF-16 code units, get only a rough bound of their tokens: a closer bound would take too long to
 * compute.
 */
const longText = 8_000;

/**
 * Embeds with the configured endpoint, or offline if there is none. Texts for a base with the offline model are always embedded offline.
 */
export function meteredEmbedder({
  settings,
  meter,
  development,
  log,
  metrics,
}: MeteredEmbedderOptions): Embedder & Part {
  const { prices } = settings;
  const { observed, spent: countSpent } = embeddingMetrics(metrics, settings.endpoint?.model);
  const endpoint = settings.endpoint && observed(embeddingsEndpoint(settings.endpoint, log));
  const model = settings.endpoint?.model ?? offlineEmbeddingModel;
  const built = offlineEmbedder();
  const offline: Source = {
    providerId: 'OFFLINE',
    async embed(texts, tenantId, signal, sent) {
      sent();
      return { vectors: await built.embed(texts, tenantId, signal), tokensIn: undefined };
    },
  };
  const remote = endpoint && settings.endpoint && remoteSource(endpoint, settings.endpoint.callsAtOnce);

  function sourceOf(wanted: string): Source {
    if (wanted === offlineEmbeddingModel) return offline;
    if (remote) return { ...remote, embed: (texts, ...how) => remote.embed(texts, wanted, ...how) };
    throw unavailable(`The embedding model ${wanted} is no longer served; passages are being embedded anew`);
  }

  return {
    name: 'embeddings',
    model,

    maxTokens(wanted) {
      if (wanted === offlineEmbeddingModel) return undefined;
      const { endpoint: given } = settings;
      return (wanted === given?.model ? given.maxTokens : undefined) ?? prices.find(wanted)?.contextTokens;
    },

    async start() {
      if (endpoint || development) return;
      log.info({ model }, 'EMBEDDINGS_URL is not set: texts are embedded by the built-in offline embedding');
    },

    async stop() {
      await Promise.all([endpoint?.close(), built.close()]);
    },

    async embed(texts, { caller, model: wanted, callId, chargedTo = 'tenant', ...given }): Promise<Embedded> {
      const { agentId, sessionId, signal, onSpent } = given;
      const operation = operations[chargedTo];
      if (texts.length === 0) return { vectors: [], tokensIn: 0, costUsdE8: 0n };
      const { providerId, embed } = sourceOf(wanted);
      const price = providerId === 'OFFLINE' ? undefined : prices.find(wanted);
      const spentOf = (tokensIn: number) => {
        const tokens = { tokensIn, tokensCached: 0, tokensOut: 0 };
        return { providerId, modelId: wanted, ...tokens, costUsdE8: price ? costUsdE8(tokens, price) : 0n };
      };
      const { tenantId, requestId, apiKeyId } = caller;
      const account = { requestId, callId, operation, apiKeyId, agentId, sessionId };
      const metered = meter.open({ ...account, tenantId: chargedTo === 'platform' ? platform : tenantId });
      const batches = batchesOf(texts);
      await metered.reserve(spentOf(batches.reduce((sum, { tokenBound }) => sum + tokenBound, 0)), true);

      const vectors: Embedding[] = [];
      let tokensIn = 0;
      let estimated = false;
      const count = (batch: Batch, counted: number | undefined) => {
        tokensIn += counted ?? estimateTokens(...batch.texts);
        estimated ||= counted === undefined;
      };
      let asked: Batch | undefined;
      try {
        for (const batch of batches) {
          signal?.throwIfAborted();
          const sent = () => {
            asked = batch;
          };
          const answer = await embed(batch.texts, tenantId, signal, sent);
          asked = undefined;
          for (const vector of answer.vectors) vectors.push(vector);
          count(batch, answer.tokensIn);
        }
      } finally {
        // The caller has cancelled after the texts were sent, so the endpoint may have charged for them.
        if (asked && signal?.aborted) count(asked, undefined);
        const { costUsdE8, ...spent } = spentOf(tokensIn);
        onSpent?.({ tokensIn, costUsdE8 });
        if (providerId === 'EMBEDDINGS') countSpent(wanted, operation, costUsdE8);
        void metered.settle({ ...spent, costUsdE8, estimated, served: tokensIn > 0 });
      }
      return { vectors, tokensIn, costUsdE8: spentOf(tokensIn).costUsdE8 };
    },
  };
}

function remoteSource(endpoint: EmbeddingsEndpoint, callsAtOnce: number) {
  const queue: FairQueue<'tenant'> = fairQueue({
    inFlight: callsAtOnce,
    shares: { tenant: { inFlight: Math.ceil(callsAtOnce / 2) } },
  });
  return {
    providerId: 'EMBEDDINGS' as const,
    async embed(
      texts: readonly string[],
      model: string,
      tenantId: number,
      signal: AbortSignal | undefined,
      sent: () => void,
    ) {
      const end = await queue.enter({ tenant: tenantId }, () => signal);
      try {
        sent();
        return await endpoint.embed(texts, model, signal);
      } finally {
        end();
      }
    },
  };
}

function batchesOf(texts: readonly string[]): Batch[] {
  const batches: { texts: string[]; tokenBound: number }[] = [];
  for (const text of texts) {
    const tokens = text.length > longText ? strictTokenBound(text) : usualTokenBound(text);
    const last = batches.at(-1);
    if (last && last.texts.length < maxBatchTexts && last.tokenBound + tokens <= maxBatchTokens) {
      last.texts.push(text);
      last.tokenBound += tokens;
    } else batches.push({ texts: [text], tokenBound: tokens });
  }
  return batches;
}

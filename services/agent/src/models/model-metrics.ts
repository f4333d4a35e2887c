import type { Metrics } from '@parley/kernel/telemetry/metrics';
import type { Breakers } from './breakers.ts';
import type { Model, TokenUsage } from './model.ts';

/** Metrics of model calls: those of OpenTelemetry's GenAI conventions, under their Prometheus names, and some that the conventions lack. */
export type ModelMetrics = ReturnType<typeof modelMetrics>;

type Place = Pick<Model, 'providerId' | 'modelId'>;

const place = ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model'];

/**
 * @param configured models that the operator configured. All other models, whose names come from tenants, share one
 * label, so that cardinality is bounded.
 */
export function modelMetrics(metrics: Metrics, breakers: Pick<Breakers, 'failing'>, configured: readonly Place[]) {
  const known = new Set(configured.map(nameOf));
  const labelled = ({ providerId, modelId }: Place): Place =>
    known.has(nameOf({ providerId, modelId })) ? { providerId, modelId } : { providerId, modelId: 'other' };
  const modelLabels = (model: Place) => {
    const { providerId, modelId } = labelled(model);
    return { gen_ai_provider_name: providerId, gen_ai_request_model: modelId };
  };
  const placeLabels = (model: Place) => ({ gen_ai_operation_name: 'chat', ...modelLabels(model) });

  const durations = metrics.durations('gen_ai_client_operation_duration_seconds', 'Calls of language models', [
    ...place,
    'error_type',
  ]);
  const firstChunks = metrics.durations(
    'gen_ai_client_operation_time_to_first_chunk_seconds',
    'From the start of a streamed call to its first piece',
    place,
  );
  const tokens = metrics.tokens('gen_ai_client_token_usage', 'Tokens of a call', [...place, 'gen_ai_token_type']);
  const fallbacks = metrics.counter(
    'parley_agent_model_fallbacks_total',
    'Calls for which a model was left for the next one',
    ['from', 'to'],
  );
  const spend = metrics.counter('parley_agent_spend_usd_total', 'What calls of models cost, in USD', [
    'gen_ai_provider_name',
    'gen_ai_request_model',
    'operation',
  ]);
  metrics.gauges(
    'parley_agent_model_kept_out',
    'Models that failed and have not answered since, or limit requests, and are asked once in a while or not at all',
    ['gen_ai_provider_name', 'gen_ai_request_model'],
    () => breakers.failing().map((model) => ({ labels: modelLabels(model), value: 1 })),
  );

  return {
    called: (model: Place, seconds: number, errorType: string) =>
      durations.observe({ ...placeLabels(model), error_type: errorType }, seconds),
    firstChunk: (model: Place, seconds: number) => firstChunks.observe(placeLabels(model), seconds),
    used(model: Place, { tokensIn, tokensOut }: TokenUsage) {
      tokens.observe({ ...placeLabels(model), gen_ai_token_type: 'input' }, tokensIn);
      tokens.observe({ ...placeLabels(model), gen_ai_token_type: 'output' }, tokensOut);
    },
    fellBack: (from: Place, to: Place) => fallbacks.add({ from: nameOf(labelled(from)), to: nameOf(labelled(to)) }),
    spent: (model: Place, operation: string, costUsdE8: bigint) =>
      spend.add({ ...modelLabels(model), operation }, Number(costUsdE8) / 1e8),
  };
}

function nameOf({ providerId, modelId }: Place): string {
  return `${providerId} ${modelId}`;
}

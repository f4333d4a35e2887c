import { type Span, SpanKind, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api';
import { isDomainError } from '@parley/kernel/errors';
import type { Metrics } from '@parley/kernel/telemetry/metrics';
import { EmbeddingsMisconfigured } from './embedder.ts';
import type { EmbeddingsEndpoint } from './embeddings-endpoint.ts';

const operationName = 'embeddings';
const provider = 'EMBEDDINGS';
const place = ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model'];

/**
 * Records spans and metrics for calls of the embeddings endpoint, by OpenTelemetry's GenAI conventions. They contain counts and error types
 * but no text.
 * @param ownModel the configured model; all other models, which older bases may still use, share one label
 */
export function embeddingMetrics(
  metrics: Metrics,
  ownModel: string | undefined,
  tracer: Tracer = trace.getTracer('parley.embeddings'),
) {
  const labelsOf = (model: string) => ({
    gen_ai_provider_name: provider,
    gen_ai_request_model: model === ownModel ? model : 'other',
  });
  const placeOf = (model: string) => ({ gen_ai_operation_name: operationName, ...labelsOf(model) });
  const durations = metrics.durations('gen_ai_client_operation_duration_seconds', 'Calls of the embeddings endpoint', [
    ...place,
    'error_type',
  ]);
  const tokens = metrics.tokens('gen_ai_client_token_usage', 'Tokens of a call', [...place, 'gen_ai_token_type']);
  const spend = metrics.counter('parley_knowledge_spend_usd_total', 'What embeddings cost, in USD', [
    'gen_ai_provider_name',
    'gen_ai_request_model',
    'operation',
  ]);

  return {
    observed(endpoint: EmbeddingsEndpoint): EmbeddingsEndpoint {
      return {
        ...endpoint,
        embed(texts, model, signal) {
          const attributes = {
            'gen_ai.operation.name': operationName,
            'gen_ai.provider.name': provider,
            'gen_ai.request.model': model,
          };
          return tracer.startActiveSpan(
            `${operationName} ${model}`,
            { kind: SpanKind.CLIENT, attributes },
            async (span) => {
              const startedAt = performance.now();
              let errorType = '';
              try {
                const answer = await endpoint.embed(texts, model, signal);
                if (answer.tokensIn !== undefined) {
                  tokens.observe({ ...placeOf(model), gen_ai_token_type: 'input' }, answer.tokensIn);
                  span.setAttribute('gen_ai.usage.input_tokens', answer.tokensIn);
                }
                return answer;
              } catch (error) {
                errorType = signal?.aborted ? 'cancelled' : errorTypeOf(error);
                fail(span, errorType);
                throw error;
              } finally {
                durations.observe(
                  { ...placeOf(model), error_type: errorType },
                  (performance.now() - startedAt) / 1_000,
                );
                span.end();
              }
            },
          );
        },
      };
    },
    spent: (model: string, operation: string, costUsdE8: bigint) =>
      spend.add({ ...labelsOf(model), operation }, Number(costUsdE8) / 1e8),
  };
}

/** Records a failure. A cancelled call is not a failure. */
function fail(span: Span, errorType: string): void {
  if (errorType === 'cancelled') return void span.setAttribute('parley.cancelled', true);
  span.setAttribute('error.type', errorType);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

function errorTypeOf(error: unknown): string {
  if (isDomainError(error, 'invalid')) return 'refused';
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof EmbeddingsMisconfigured ? 'misconfigured' : 'unavailable';
}

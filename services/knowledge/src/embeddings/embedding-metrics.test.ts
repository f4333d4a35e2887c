import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { badRequest, unavailable } from '@parley/kernel/errors';
import { createMetrics } from '@parley/kernel/telemetry/metrics';
import test from 'ava';
import { EmbeddingsMisconfigured } from './embedder.ts';
import { embeddingMetrics } from './embedding-metrics.ts';
import type { EndpointAnswer } from './embeddings-endpoint.ts';

function observed(embed: () => Promise<EndpointAnswer>) {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  const metrics = createMetrics('knowledge');
  const { observed: observe } = embeddingMetrics(metrics, 'own', provider.getTracer('test'));
  const endpoint = observe({ embed, close: async () => undefined });
  return { endpoint, spans: () => exporter.getFinishedSpans(), text: () => metrics.registry.metrics() };
}

test('a call is a span and counts its time and tokens, without a text', async (t) => {
  const { endpoint, spans, text } = observed(async () => ({ vectors: [], tokensIn: 12 }));
  await endpoint.embed(['canary'], 'own');
  const [span] = spans();
  t.is(span?.name, 'embeddings own');
  t.is(span?.kind, SpanKind.CLIENT);
  t.deepEqual(span?.attributes, {
    'gen_ai.operation.name': 'embeddings',
    'gen_ai.provider.name': 'EMBEDDINGS',
    'gen_ai.request.model': 'own',
    'gen_ai.usage.input_tokens': 12,
  });
  const exposed = await text();
  t.regex(exposed, /^gen_ai_client_token_usage_sum\{.*gen_ai_request_model="own".*\} 12$/mu);
  t.regex(exposed, /^gen_ai_client_operation_duration_seconds_count\{.*error_type="".*\} 1$/mu);
  t.notRegex(exposed + JSON.stringify(span?.attributes), /canary/u);
});

for (const [errorType, error] of [
  ['refused', badRequest('canary', 'EMBEDDING_REFUSED')],
  ['misconfigured', unavailable('canary', new EmbeddingsMisconfigured('settings', 'status 401'))],
  ['unavailable', unavailable('canary')],
] as const) {
  test(`a call that is ${errorType} is an error of that type, without its message`, async (t) => {
    const { endpoint, spans, text } = observed(() => Promise.reject(error));
    t.is(await t.throwsAsync(endpoint.embed(['a'], 'own')), error);
    const [span] = spans();
    t.is(span?.attributes['error.type'], errorType);
    t.deepEqual(span?.status, { code: SpanStatusCode.ERROR });
    const exposed = await text();
    t.regex(exposed, new RegExp(`duration_seconds_count\\{.*error_type="${errorType}".*\\} 1`, 'u'));
    t.notRegex(exposed + JSON.stringify([span?.attributes, span?.events]), /canary/u);
  });
}

test('a cancelled call is not counted as an error', async (t) => {
  const leaving = new AbortController();
  const { endpoint, spans } = observed(async () => {
    leaving.abort(new Error('left'));
    throw leaving.signal.reason;
  });
  await t.throwsAsync(endpoint.embed(['a'], 'own', leaving.signal), { message: 'left' });
  t.is(spans()[0]?.status.code, SpanStatusCode.UNSET);
  t.true(spans()[0]?.attributes['parley.cancelled']);
});

import { SpanStatusCode, trace } from '@opentelemetry/api';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import test from 'ava';
import type { Model, ModelEvent, ModelRequest } from './model.ts';
import { ModelError } from './model-error.ts';
import { ask, eventsOf, uncancelled } from './testing/model-on-server.ts';
import { tracedModel } from './traced-model.ts';

const exporter = new InMemorySpanExporter();
trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }));

/** Creates a traced model. The model id distinguishes its spans from those of other tests. */
function model(modelId: string, stream: (request: ModelRequest) => AsyncGenerator<ModelEvent>): Model {
  return tracedModel({
    providerId: 'P',
    modelId,
    offline: false,
    vision: false,
    contextTokens: 8_192,
    maxOutputTokens: 1_024,
    stream,
  });
}

const spanOf = (modelId: string) => exporter.getFinishedSpans().find(({ name }) => name === `chat ${modelId}`);

async function* answering(): AsyncGenerator<ModelEvent> {
  yield { type: 'text', text: 'canary' };
  yield { type: 'finish', tokensIn: 1, tokensCached: 0, tokensOut: 2, estimated: false, finishReason: 'length' };
}

test('a streamed call is one span with ids and usage, without text', async (t) => {
  await eventsOf(model('streamed', answering).stream(ask('canary', { maxOutputTokens: 9 }), uncancelled));

  const attributes = spanOf('streamed')?.attributes ?? {};
  t.like(attributes, {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'P',
    'gen_ai.request.model': 'streamed',
    'gen_ai.request.max_tokens': 9,
    'gen_ai.output.type': 'text',
    'gen_ai.usage.input_tokens': 1,
    'gen_ai.usage.output_tokens': 2,
    'gen_ai.response.finish_reasons': ['length'],
  });
  t.is(typeof attributes['gen_ai.response.time_to_first_chunk'], 'number');
  t.notRegex(JSON.stringify(attributes), /canary|Ada/u);
});

test('the span of a failed call has the kind of the error', async (t) => {
  async function* failing(): AsyncGenerator<ModelEvent> {
    yield { type: 'text', text: 'One' };
    throw new ModelError('rateLimited', { beforeFirstChunk: false, transient: true, cause: new Error('canary') });
  }
  await t.throwsAsync(eventsOf(model('failed', failing).stream(ask('Hi'), uncancelled)));

  t.is(spanOf('failed')?.status.code, SpanStatusCode.ERROR);
  t.is(spanOf('failed')?.attributes['error.type'], 'rateLimited');
});

test('the span of a cancelled or abandoned call is not an error', async (t) => {
  const controller = new AbortController();
  for await (const event of model('left', answering).stream(ask('Hi'), controller)) {
    t.is(event.type, 'text');
    break;
  }
  t.is(spanOf('left')?.status.code, SpanStatusCode.UNSET);

  async function* cancelled(): AsyncGenerator<ModelEvent> {
    yield { type: 'text', text: 'One' };
    controller.abort();
    throw controller.signal.reason;
  }
  await t.throwsAsync(eventsOf(model('cancelled', cancelled).stream(ask('Hi'), controller)), { name: 'AbortError' });
  t.is(spanOf('cancelled')?.status.code, SpanStatusCode.UNSET);
  t.is(spanOf('cancelled')?.attributes['parley.cancelled'], true);
});

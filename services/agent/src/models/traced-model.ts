import { type Attributes, context, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { FinishReason, Model, ModelRequest, TokenUsage } from './model.ts';
import { ModelError } from './model-error.ts';

/**
 * Records spans by OpenTelemetry's GenAI conventions: ids, counts and reasons, never text. A cancelled or abandoned
 * call is not an error.
 */
export function tracedModel(model: Model): Model {
  return {
    ...model,

    stream(request, call) {
      // The span's parent is the context of the call, not that of the stream's reader.
      const parent = context.active();
      return (async function* () {
        const options = { kind: SpanKind.CLIENT, attributes: requestAttributes(model, request) };
        const span = trace.getTracer('parley.models').startSpan(`chat ${model.modelId}`, options, parent);
        const startedAt = performance.now();
        let started = false;
        try {
          for await (const event of context.with(trace.setSpan(parent, span), () => model.stream(request, call))) {
            if (!started) {
              started = true;
              span.setAttribute('gen_ai.response.time_to_first_chunk', (performance.now() - startedAt) / 1000);
            }
            if (event.type === 'finish') finish(span, event);
            yield event;
          }
        } catch (error) {
          fail(span, error, call.signal);
          throw error;
        } finally {
          span.end();
        }
      })();
    },
  };
}

function requestAttributes(model: Model, { maxOutputTokens, json }: ModelRequest): Attributes {
  return {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': model.providerId,
    'gen_ai.request.model': model.modelId,
    'gen_ai.output.type': json ? 'json' : 'text',
    ...(maxOutputTokens !== undefined && { 'gen_ai.request.max_tokens': maxOutputTokens }),
  };
}

function finish(span: Span, { tokensIn, tokensOut, finishReason }: TokenUsage & { finishReason: FinishReason }): void {
  span.setAttributes({
    'gen_ai.usage.input_tokens': tokensIn,
    'gen_ai.usage.output_tokens': tokensOut,
    'gen_ai.response.finish_reasons': [finishReason],
  });
}

function fail(span: Span, error: unknown, signal: AbortSignal): void {
  if (signal.aborted) return void span.setAttribute('parley.cancelled', true);
  // Only the kind is recorded, because messages may quote the conversation.
  span.setAttribute('error.type', error instanceof ModelError ? error.kind : 'unknown');
  span.setStatus({ code: SpanStatusCode.ERROR });
}

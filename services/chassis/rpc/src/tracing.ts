import { context as otel, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { CallContext, CallOptions, ClientMiddlewareCall, ServerMiddlewareCall } from 'nice-grpc-common';
import { Metadata } from 'nice-grpc-common';

const tracer = trace.getTracer('parley.rpc');

/** Runs the call in its own span and sends the trace context (W3C) in its metadata. */
export async function* clientTracing<Request, Response>(
  call: ClientMiddlewareCall<Request, Response>,
  options: CallOptions,
) {
  const span = tracer.startSpan(call.method.path.slice(1), {
    kind: SpanKind.CLIENT,
    attributes: { 'rpc.system': 'grpc' },
  });
  const metadata = Metadata(options.metadata);
  propagation.inject(trace.setSpan(otel.active(), span), metadata, {
    set: (carrier, key, value) => carrier.set(key, value),
  });
  try {
    return yield* call.next(call.request, { ...options, metadata });
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw error;
  } finally {
    span.end();
  }
}

export async function* serverTracing<Request, Response>(
  call: ServerMiddlewareCall<Request, Response>,
  context: CallContext,
) {
  const parent = propagation.extract(otel.active(), context.metadata, {
    get: (carrier, key) => {
      const value = carrier.get(key);
      return typeof value === 'string' ? value : undefined;
    },
    keys: (carrier) => [...carrier].map(([key]) => key),
  });
  const span = tracer.startSpan(
    call.method.path.slice(1),
    { kind: SpanKind.SERVER, attributes: { 'rpc.system': 'grpc' } },
    parent,
  );
  const scope = trace.setSpan(parent, span);
  const responses = call.next(call.request, context);
  try {
    // A generator resumes in the context of its consumer, so each step has to enter the span again.
    for (;;) {
      const { done, value } = await otel.with(scope, () => responses.next());
      if (done) return value ?? undefined;
      yield value;
    }
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw error;
  } finally {
    await responses.return(undefined as never);
    span.end();
  }
}

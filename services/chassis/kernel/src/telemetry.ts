import { setTimeout as delay } from 'node:timers/promises';
import { type Attributes, type Context, context as otel, type Span, SpanStatusCode, trace } from '@opentelemetry/api';
import { type Environment, readSettings } from './config.ts';
import { tracingSettings } from './shared-settings.ts';
import type { Part } from './unit.ts';

/** How long a process that stops waits for its last spans to be exported. */
const flushTimeoutMs = 2_000;

/**
 * OpenTelemetry for one process, configured by the `OTEL_*` variables. Without `OTEL_EXPORTER_OTLP_ENDPOINT` or
 * `OTEL_TRACES_EXPORTER` the SDK is not loaded. There is no automatic instrumentation: boundaries make their spans by `inSpan`.
 */
export function telemetry(env: Environment): Part {
  let shutdown: (() => Promise<void>) | undefined;
  return {
    name: 'telemetry',
    async start() {
      const { endpoint, exporter, serviceName } = readSettings(env, tracingSettings);
      if (!endpoint && !exporter) return;
      const { NodeSDK } = await import('@opentelemetry/sdk-node');
      const sdk = new NodeSDK({ serviceName, instrumentations: [] });
      sdk.start();
      shutdown = () => sdk.shutdown();
    },
    async stop() {
      // The SDK would retry for some 10 s while the collector is down.
      const sent = shutdown?.().catch(() => undefined);
      await Promise.race([sent, delay(flushTimeoutMs, undefined, { ref: false })]);
    },
  };
}

/** Runs `work` in a span of its own. Attributes hold ids and counts, never text, prompts, tokens or secrets. */
export async function inSpan<T>(
  name: string,
  attributes: Attributes,
  work: (span: Span) => Promise<T>,
  parent: Context = otel.active(),
): Promise<T> {
  const span = trace.getTracer('parley').startSpan(name, { attributes }, parent);
  try {
    return await otel.with(trace.setSpan(parent, span), () => work(span));
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw error;
  } finally {
    span.end();
  }
}

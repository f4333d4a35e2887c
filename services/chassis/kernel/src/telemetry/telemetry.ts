import { setTimeout as delay } from 'node:timers/promises';
import type { Context, Span, SpanOptions, Tracer } from '@opentelemetry/api';
import { context as otel, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Part } from '../processes/unit.ts';
import { type Environment, readSettings } from '../settings/config.ts';
import { tracingSettings } from '../settings/shared-settings.ts';
import type { TracingSettings } from './tracing-sdk.ts';

/** How long a stopping process waits until its last spans are exported. */
const flushTimeoutMs = 2_000;

/**
 * OpenTelemetry's traces for one process, configured by the `OTEL_*` variables. The SDK is loaded only if these variables enable traces.
 * There is no automatic instrumentation: code at the boundaries of the process makes its spans with `inSpan`.
 */
export function telemetry(env: Environment): Part {
  let sdk: { shutdown(): Promise<void> } | undefined;
  return {
    name: 'telemetry',
    async start() {
      const settings = readTracing(env);
      if (!settings) return;
      const { startTracing } = await import('./tracing-sdk.ts');
      sdk = await startTracing(settings);
    },
    async stop() {
      // The wait is limited, because the SDK retries for some 10 s while the collector is down.
      const sent = sdk?.shutdown().catch(() => undefined);
      await Promise.race([sent, delay(flushTimeoutMs, undefined, { ref: false })]);
    },
  };
}

/**
 * Returns the settings of traces; undefined if traces are off. If traces are off, the other settings are not read, because operators often
 * set variables for whole namespaces.
 * @throws SettingsError if a setting is invalid
 */
export function readTracing(env: Environment): TracingSettings | undefined {
  const { isDisabled, endpoint, tracesEndpoint, exporters } = tracingSettings;
  if (readSettings(env, { isDisabled }).isDisabled) return undefined;
  const on = readSettings(env, { endpoint, tracesEndpoint, exporters });
  if (on.exporters?.includes('none')) return undefined;
  const isOn = on.endpoint ?? on.tracesEndpoint ?? on.exporters?.length;
  return isOn ? readSettings(env, tracingSettings) : undefined;
}

/** Runs `work` in its own span. Attributes hold ids and counts, never text, prompts, tokens or secrets. */
export async function inSpan<T>(
  tracer: Tracer,
  name: string,
  options: SpanOptions,
  work: (span: Span) => Promise<T>,
  parent: Context = otel.active(),
): Promise<T> {
  const span = tracer.startSpan(name, options, parent);
  try {
    return await otel.with(trace.setSpan(parent, span), () => work(span));
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw error;
  } finally {
    span.end();
  }
}

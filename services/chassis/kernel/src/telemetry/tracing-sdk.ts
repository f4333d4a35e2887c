import { context, DiagConsoleLogger, diag, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  CompositePropagator,
  diagLogLevelFromString,
  getNumberFromEnv,
  getStringFromEnv,
  W3CBaggagePropagator,
  W3CTraceContextPropagator,
} from '@opentelemetry/core';
import {
  defaultResource,
  detectResources,
  envDetector,
  hostDetector,
  osDetector,
  processDetector,
  type Resource,
  resourceFromAttributes,
  serviceInstanceIdDetector,
} from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ConsoleSpanExporter,
  ParentBasedSampler,
  type Sampler,
  SimpleSpanProcessor,
  type SpanExporter,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { ValuesOf } from '../settings/settings.ts';
import type { otlpProtocols, tracingSettings } from '../settings/shared-settings.ts';

/*
 * The parts of OpenTelemetry that traces need; `@opentelemetry/sdk-node` would also load the parts for metrics, logs and instrumentations.
 * Exporters, span processors and resource detectors read their variables from the environment of the process.
 */

export type TracingSettings = ValuesOf<typeof tracingSettings>;

/** Starts to record and export the spans of this process, with the settings' exporters. */
export async function startTracing(settings: TracingSettings): Promise<{ shutdown(): Promise<void> }> {
  // Without a log level the SDK reports nothing, not even that the collector is down.
  const logLevel = diagLogLevelFromString(getStringFromEnv('OTEL_LOG_LEVEL'));
  if (logLevel !== undefined) diag.setLogger(new DiagConsoleLogger(), logLevel);
  const exporters = settings.exporters?.length ? settings.exporters : (['otlp'] as const);
  return registerTracing(
    settings,
    await Promise.all([...new Set(exporters)].map((each) => processorOf(each, settings))),
  );
}

/** Registers a tracer provider with these processors, the context manager and the propagators for this process. */
export function registerTracing(
  { sampler, sampledRatio, propagators }: Pick<TracingSettings, 'sampler' | 'sampledRatio' | 'propagators'>,
  spanProcessors: SpanProcessor[],
): { shutdown(): Promise<void> } {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  if (!propagators.includes('none')) {
    const made = propagators.map((each) =>
      each === 'baggage' ? new W3CBaggagePropagator() : new W3CTraceContextPropagator(),
    );
    propagation.setGlobalPropagator(new CompositePropagator({ propagators: made }));
  }
  const provider = new TracerProvider({
    resource: processResource(),
    sampler: samplerOf(sampler, sampledRatio),
    spanLimits: numbersOf(spanLimits, 0),
    spanProcessors,
  });
  trace.setGlobalTracerProvider(provider);
  return provider;
}

/** The exporters are imported on demand, because a process uses only one of them. */
const otlpExporters: Record<
  (typeof otlpProtocols)[number],
  () => Promise<{ OTLPTraceExporter: new () => SpanExporter }>
> = {
  'http/protobuf': () => import('@opentelemetry/exporter-trace-otlp-proto'),
  'http/json': () => import('@opentelemetry/exporter-trace-otlp-http'),
  grpc: () => import('@opentelemetry/exporter-trace-otlp-grpc'),
};

async function processorOf(
  exporter: NonNullable<TracingSettings['exporters']>[number],
  { protocol, tracesProtocol = protocol }: TracingSettings,
): Promise<SpanProcessor> {
  if (exporter === 'console') return new SimpleSpanProcessor({ exporter: new ConsoleSpanExporter() });
  const { OTLPTraceExporter } = await otlpExporters[tracesProtocol]();
  return new BatchSpanProcessor({ exporter: new OTLPTraceExporter(), ...numbersOf(batchLimits, 1) });
}

function processResource(): Resource {
  const detectors = [serviceInstanceIdDetector, processDetector, hostDetector, osDetector, envDetector];
  return defaultResource()
    .merge(resourceFromAttributes({ 'service.name': 'parley' }))
    .merge(detectResources({ detectors }));
}

function samplerOf(name: TracingSettings['sampler'], ratio: number): Sampler {
  const root = rootSampler(name, ratio);
  return name.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}

function rootSampler(name: TracingSettings['sampler'], ratio: number): Sampler {
  if (name.endsWith('always_off')) return new AlwaysOffSampler();
  return name.endsWith('traceidratio') ? new TraceIdRatioBasedSampler(ratio) : new AlwaysOnSampler();
}

const batchLimits = {
  maxQueueSize: ['OTEL_BSP_MAX_QUEUE_SIZE'],
  maxExportBatchSize: ['OTEL_BSP_MAX_EXPORT_BATCH_SIZE'],
  scheduledDelayMillis: ['OTEL_BSP_SCHEDULE_DELAY'],
  exportTimeoutMillis: ['OTEL_BSP_EXPORT_TIMEOUT'],
};

const spanLimits = {
  attributeCountLimit: ['OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT', 'OTEL_ATTRIBUTE_COUNT_LIMIT'],
  attributeValueLengthLimit: ['OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT', 'OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT'],
  eventCountLimit: ['OTEL_SPAN_EVENT_COUNT_LIMIT'],
  linkCountLimit: ['OTEL_SPAN_LINK_COUNT_LIMIT'],
  attributePerEventCountLimit: ['OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT'],
  attributePerLinkCountLimit: ['OTEL_LINK_ATTRIBUTE_COUNT_LIMIT'],
};

/** The maximum delay of a timer in Node; a longer timer would fire after 1 ms. */
const maxNumber = 2 ** 31 - 1;

/**
 * Reads, for each option, the first of its variables that is set. If none is set, or the value is out of bounds, the SDK's default applies.
 */
function numbersOf<Key extends string>(names: Record<Key, string[]>, minNumber: number): Partial<Record<Key, number>> {
  const given = Object.entries<string[]>(names).flatMap(([key, each]) => {
    const value = each.map((name) => getNumberFromEnv(name)).find((number) => number !== undefined);
    return value === undefined || value < minNumber || value > maxNumber ? [] : [[key, value]];
  });
  return Object.fromEntries(given) as Partial<Record<Key, number>>;
}

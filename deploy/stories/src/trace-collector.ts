import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Environment } from '@parley/chassis/config';

export interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  links?: { traceId: string; spanId: string }[];
}

/** Somewhere that a mesh sends its spans to, as to any OpenTelemetry collector. */
export interface TraceCollector {
  /** The OTEL_* settings of a process that reports here. */
  env: Environment;
  readonly spans: readonly Span[];
  /** Everything that arrived, as it came. */
  text(): string;
  stop(): Promise<void>;
}

/** Takes OTLP as JSON over HTTP and keeps it. @param port 0: any free one. */
export async function startTraceCollector(port = 0): Promise<TraceCollector> {
  const bodies: string[] = [];
  const spans: Span[] = [];
  const http = createServer(async (request, response) => {
    let body = '';
    for await (const part of request.setEncoding('utf8')) body += part;
    bodies.push(body);
    const { resourceSpans = [] } = JSON.parse(body) as { resourceSpans?: { scopeSpans: { spans: Span[] }[] }[] };
    spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)));
    response.setHeader('content-type', 'application/json').end('{}');
  });
  http.listen(port, '127.0.0.1');
  await once(http, 'listening');
  return {
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_METRICS_EXPORTER: 'none',
      OTEL_LOGS_EXPORTER: 'none',
      OTEL_BSP_SCHEDULE_DELAY: '20',
    },
    spans,
    text: () => bodies.join('\n'),
    async stop() {
      http.closeAllConnections();
      const closed = once(http, 'close');
      http.close();
      await closed;
    },
  };
}

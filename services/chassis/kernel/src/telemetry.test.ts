import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { inSpan, telemetry } from './telemetry.ts';

test('a process stops in time while the collector is down', async (t) => {
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  await closed[Symbol.asyncDispose]();
  // The SDK reads the environment of the process: this file has one of its own.
  Object.assign(process.env, {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_LOGS_EXPORTER: 'none',
    OTEL_LOG_LEVEL: 'none',
  });
  const part = telemetry(process.env);
  await part.start();
  await inSpan('lost', {}, async () => undefined);

  const begun = performance.now();
  await part.stop();
  const tookMs = performance.now() - begun;
  t.true(tookMs < 30_000, `${tookMs} ms`); // it stops waiting after 2 s
});

import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import type { AddressInfo, Server } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { context, isSpanContextValid, propagation, type Span, SpanStatusCode, trace } from '@opentelemetry/api';
import test, { type ExecutionContext } from 'ava';
import { readSettings } from '../settings/config.ts';
import { tracingSettings } from '../settings/shared-settings.ts';
import { inSpan, readTracing, telemetry } from './telemetry.ts';

/** A new tracer for each span, because a tracer keeps the first provider that it has found. */
const tracer = () => trace.getTracer('parley');

/** Starts telemetry with only these variables. The SDK reads the environment of the process, and this test file has its own process. */
async function traced(t: ExecutionContext, env: Record<string, string>) {
  for (const name of Object.keys(process.env)) if (name.startsWith('OTEL_')) delete process.env[name];
  Object.assign(process.env, { OTEL_LOG_LEVEL: 'none', ...env });
  const part = telemetry(process.env);
  t.teardown(() => {
    for (const api of [trace, context, propagation]) api.disable();
  });
  await part.start();
  return part;
}

/** Makes `server` listen, and resolves with its port. */
async function listening(t: ExecutionContext, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
}

interface Exported {
  path: string | undefined;
  type: string | undefined;
  headers: Record<string, unknown>;
  text: string;
}

/** A collector that speaks either HTTP/1.1 or gRPC. */
async function collector(t: ExecutionContext, protocol: string) {
  const exported: Exported[] = [];
  const http = createServer(async (request, response) => {
    const { url: path, headers } = request;
    exported.push({ path, type: headers['content-type'], headers, text: (await buffer(request)).toString('latin1') });
    response.end();
  });
  const grpc = createHttp2Server().on('stream', async (stream, headers) => {
    const text = (await buffer(stream)).toString('latin1');
    exported.push({ path: headers[':path'], type: headers['content-type'], headers, text });
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(Buffer.alloc(5)); // an empty message
  });
  const port = await listening(t, protocol === 'grpc' ? grpc : http);
  return { exported, url: `http://127.0.0.1:${port}` };
}

const span = async (name: string): Promise<Span> => inSpan(tracer(), name, {}, async (made) => made);

for (const [protocol, path, type] of [
  ['http/protobuf', '/v1/traces', 'application/x-protobuf'],
  ['http/json', '/v1/traces', 'application/json'],
  ['grpc', '/opentelemetry.proto.collector.trace.v1.TraceService/Export', 'application/grpc'],
] as const) {
  test.serial(`spans are sent by ${protocol}, with headers and resource of the environment`, async (t) => {
    const { exported, url } = await collector(t, protocol);
    const part = await traced(t, {
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: protocol,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-collector=ours',
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=shop,shop.floor=second',
    });
    await span('sent by a test');
    await part.stop();
    t.is(exported.length, 1);
    t.like(exported[0], { path, type, headers: { 'x-collector': 'ours' } });
    for (const text of ['sent by a test', 'shop', 'shop.floor', 'second', 'process.pid', 'telemetry.sdk.name']) {
      t.true(exported[0]?.text.includes(text), text);
    }
  });
}

test.serial('spans go to the address for traces alone, in batches of the configured size', async (t) => {
  const { exported, url } = await collector(t, 'http/json');
  const part = await traced(t, {
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/mine`,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '2',
    OTEL_SERVICE_NAME: 'till',
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=shop',
    OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: '1',
  });
  for (const name of ['a', 'b', 'c'])
    await inSpan(tracer(), name, { attributes: { first: 1, second: 2 } }, async () => undefined);
  await part.stop();

  const bodies = exported.map(({ text }) => JSON.parse(text).resourceSpans[0]);
  const sizes = bodies.map(({ scopeSpans }): number => scopeSpans[0].spans.length);
  t.deepEqual(
    sizes.toSorted((one, other) => one - other),
    [1, 2],
  );
  t.true(exported.every(({ path }) => path === '/mine'));
  const attributes: { key: string; value: { stringValue?: string } }[] = bodies[0].resource.attributes;
  t.deepEqual(
    attributes.flatMap(({ key, value }) => (key === 'service.name' ? value.stringValue : [])),
    ['till'],
  );
  t.like(bodies[0].scopeSpans[0].spans[0], { attributes: [{ key: 'first' }], droppedAttributesCount: 1 });
});

test.serial('without a name in the environment the name of a process is parley', async (t) => {
  const { exported, url } = await collector(t, 'http/json');
  const part = await traced(t, { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' });
  await span('a');
  await part.stop();
  t.regex(exported[0]?.text ?? '', /"service\.name","value":\{"stringValue":"parley"\}/u);
});

test.serial('the sampler decides which traces are recorded', async (t) => {
  const { exported, url } = await collector(t, 'http/protobuf');
  const part = await traced(t, { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_TRACES_SAMPLER: 'parentbased_always_off' });
  t.false((await span('of its own')).isRecording());
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const parent = propagation.extract(context.active(), { traceparent });
  t.is(await inSpan(tracer(), 'of a sampled one', {}, async (made) => made.spanContext().traceFlags, parent), 1);
  await part.stop();
  t.is(exported.length, 1);
  t.true(exported[0]?.text.includes('of a sampled one'));
  t.false(exported[0]?.text.includes('of its own'));
});

test.serial('the span of failed work has the status of an error', async (t) => {
  const { exported, url } = await collector(t, 'http/json');
  const part = await traced(t, { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' });
  await span('well');
  await t.throwsAsync(
    inSpan(tracer(), 'failed', {}, () => Promise.reject(new Error('no'))),
    { message: 'no' },
  );
  await part.stop();
  const spans: { name: string; status: { code: SpanStatusCode } }[] = exported.flatMap(
    ({ text }) => JSON.parse(text).resourceSpans[0].scopeSpans[0].spans,
  );
  t.deepEqual(Object.fromEntries(spans.map(({ name, status }) => [name, status.code])), {
    well: SpanStatusCode.UNSET,
    failed: SpanStatusCode.ERROR,
  });
});

test.serial('the trace context is passed on by the chosen propagators', async (t) => {
  const injected = async (): Promise<string[]> =>
    inSpan(tracer(), 'caller', {}, async () => {
      const carrier: Record<string, string> = {};
      const baggage = propagation.createBaggage({ a: { value: 'b' } });
      propagation.inject(propagation.setBaggage(context.active(), baggage), carrier);
      return Object.keys(carrier).toSorted();
    });
  const { url } = await collector(t, 'http/protobuf');
  for (const [propagators, expected] of [
    ['', ['baggage', 'traceparent']],
    ['tracecontext', ['traceparent']],
    ['none', []],
  ] as const) {
    const part = await traced(t, { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_PROPAGATORS: propagators });
    t.deepEqual(await injected(), [...expected], propagators);
    await part.stop();
    for (const api of [trace, context, propagation]) api.disable();
  }
});

for (const [what, env] of Object.entries({
  'without an address or an exporter': {},
  'by OTEL_SDK_DISABLED': { OTEL_SDK_DISABLED: 'TRUE', OTEL_TRACES_EXPORTER: 'otlp' },
  'by the exporter none': { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_TRACES_EXPORTER: 'none' },
})) {
  test.serial(`traces are off ${what}`, async (t) => {
    const part = await traced(t, env);
    t.false(isSpanContextValid((await span('a')).spanContext()));
    await part.stop();
  });
}

test('when traces are off, wrong values of their settings are no error', (t) => {
  const wrong = { OTEL_PROPAGATORS: 'b3', OTEL_EXPORTER_OTLP_PROTOCOL: 'x', OTEL_TRACES_SAMPLER: 'jaeger_remote' };
  t.is(readTracing(wrong), undefined);
  t.is(readTracing({ ...wrong, OTEL_SDK_DISABLED: 'true', OTEL_TRACES_EXPORTER: 'zipkin' }), undefined);
  t.is(readTracing({ ...wrong, OTEL_TRACES_EXPORTER: 'none' }), undefined);
  t.throws(() => readTracing({ ...wrong, OTEL_TRACES_EXPORTER: 'otlp' }), { message: /OTEL_PROPAGATORS: b3/u });
});

test('a collector without a URL and a ratio without a number are named', (t) => {
  const { message } = t.throws(() =>
    readSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318', OTEL_TRACES_SAMPLER_ARG: ' ' }, tracingSettings),
  );
  t.regex(message, /OTEL_EXPORTER_OTLP_ENDPOINT: is not an http or https URL/u);
  t.regex(message, /OTEL_TRACES_SAMPLER_ARG: is not a number/u);
});

test('an unsupported value is named together with the supported ones', (t) => {
  const env = {
    OTEL_TRACES_EXPORTER: 'otlp, zipkin',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http',
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'thrift',
    OTEL_TRACES_SAMPLER: 'sometimes',
    OTEL_TRACES_SAMPLER_ARG: '2',
    OTEL_PROPAGATORS: 'b3',
  };
  const { message } = t.throws(() => readSettings(env, tracingSettings));
  for (const problem of [
    'OTEL_TRACES_EXPORTER: zipkin is none of otlp, console and none',
    'OTEL_EXPORTER_OTLP_PROTOCOL: http is none of http/protobuf, http/json and grpc',
    'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: thrift is none of http/protobuf, http/json and grpc',
    'OTEL_TRACES_SAMPLER: sometimes is none of always_on, ',
    'OTEL_TRACES_SAMPLER_ARG: ',
    'OTEL_PROPAGATORS: b3 is none of tracecontext, baggage and none',
  ]) {
    t.true(message.includes(`\n  ${problem}`), `${problem} in ${message}`);
  }
});

test.serial('a process stops in time while the collector is down', async (t) => {
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  await closed[Symbol.asyncDispose]();
  const part = await traced(t, { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` });
  await span('lost');

  const begun = performance.now();
  await part.stop();
  const tookMs = performance.now() - begun;
  t.true(tookMs < 30_000, `${tookMs} ms`); // the telemetry part waits no longer than 2 s
});

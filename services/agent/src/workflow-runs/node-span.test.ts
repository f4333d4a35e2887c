import { AsyncLocalStorage } from 'node:async_hooks';
import { type Context, context, ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import test from 'ava';
import { closeNodeSpan, openNodeSpan, recordNodeSpans, within } from './node-span.ts';

const exporter = new InMemorySpanExporter();
trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }));
const contexts = new AsyncLocalStorage<Context>();
context.setGlobalContextManager({
  active: () => contexts.getStore() ?? ROOT_CONTEXT,
  with: (active, work, self, ...args) => contexts.run(active, () => work.apply(self, args)),
  bind: (_, target) => target,
  enable() {
    return this;
  },
  disable() {
    return this;
  },
});

const spanOf = (node: string) =>
  exporter.getFinishedSpans().find(({ attributes }) => attributes['parley.workflow.node'] === node);
const step = (nodeId: string) => ({ nodeId, kind: 'llm' as const, visit: 2, startedAt: 1_000 });

test('what a node calls is within its span, whoever reads its events', async (t) => {
  const span = openNodeSpan(step('outer'));
  async function* calls() {
    for (const name of ['one', 'two']) {
      trace.getTracer('test').startSpan(name).end();
      await Promise.resolve();
      yield name;
    }
    return 'done';
  }
  const events = within(span, calls());
  t.deepEqual(
    [await events.next(), await events.next(), await events.next()],
    [
      { value: 'one', done: false },
      { value: 'two', done: false },
      { value: 'done', done: true },
    ],
  );
  closeNodeSpan(span, { errorCode: undefined, used: { tokensIn: 7, tokensOut: 3, costUsdE8: 150n } });
  const children = exporter.getFinishedSpans().filter(({ name }) => name === 'one' || name === 'two');
  t.deepEqual(
    children.map(({ parentSpanContext }) => parentSpanContext?.spanId),
    [span.spanContext().spanId, span.spanContext().spanId],
  );
  t.like(spanOf('outer'), { name: 'workflow.node llm', status: { code: SpanStatusCode.UNSET } });
  t.like(spanOf('outer')?.attributes, {
    'gen_ai.usage.input_tokens': 7,
    'gen_ai.usage.output_tokens': 3,
    'parley.cost_usd': 0.0000015,
  });
});

test('the span of a failed node has its code, that of an abandoned one is marked as cancelled, and none has output', (t) => {
  const ended = {
    ...step('failed'),
    durationMs: 250,
    output: 'canary',
    error: { code: 'HTTP_STATUS', message: 'canary' },
    next: null,
  };
  recordNodeSpans([ended, { ...ended, nodeId: 'running', durationMs: null }]);
  const failed = spanOf('failed');
  t.like(failed, { status: { code: SpanStatusCode.ERROR } });
  t.deepEqual(failed?.attributes, {
    'parley.workflow.node': 'failed',
    'parley.workflow.kind': 'llm',
    'parley.workflow.visit': 2,
    'error.type': 'HTTP_STATUS',
  });
  t.deepEqual(failed?.duration, [0, 250_000_000]);
  t.is(spanOf('running'), undefined);
  closeNodeSpan(openNodeSpan(step('left')), { errorCode: null });
  t.like(spanOf('left'), { attributes: { 'parley.cancelled': true }, status: { code: SpanStatusCode.UNSET } });
});

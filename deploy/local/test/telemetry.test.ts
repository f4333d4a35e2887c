import { eventually } from '@parley/chassis/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { converse, endSession, evaluated, sendMessage } from './support/conversation.ts';
import { dataFolder } from './support/mesh-process.ts';
import { startScriptedModel } from './support/scripted-model.ts';
import { type Span, startTraceCollector } from './support/trace-collector.ts';

async function observedMesh(t: ExecutionContext) {
  const [model, collector] = await Promise.all([startScriptedModel(), startTraceCollector()]);
  t.teardown(() => Promise.all([model.server.stop(), collector.stop()]));
  const folder = await dataFolder(t, { ...model.env, ...collector.env });
  return { mesh: await folder.start(), spans: collector.spans };
}

test('one trace leads from sendMessage to the last chunk, and one from endSession to the evaluation, by link', async (t) => {
  const { mesh, spans } = await observedMesh(t);
  const ada = await mesh.person();
  const { sessionId, events } = await converse(t, ada);
  await sendMessage(ada, sessionId, 'Trace me.');
  await events.turns(1);
  await endSession(ada, sessionId);
  await evaluated(ada, sessionId);
  const find = (name: RegExp) => spans.find((span) => name.test(span.name));
  await eventually('the spans of the turn, the judgement and both model calls', () => {
    return (
      find(/^job .*turn/) && find(/^job .*judg/) && spans.filter(({ name }) => name.startsWith('chat ')).length >= 2
    );
  });

  const turn = spans.find(({ name }) => /^job .*turn/.test(name));
  const inTurn = treeOf(spans, turn);
  t.true(
    inTurn.some(({ name }) => name.endsWith('RunTurn')),
    'the call of agent',
  );
  t.true(
    inTurn.some(({ name }) => name.startsWith('chat ')),
    "the model's",
  );
  const before = ancestorsOf(spans, turn).map(({ name }) => name);
  t.true(before.includes('gateway request'), before.join(' < '));
  t.true(
    before.some((name) => name.startsWith('session')),
    before.join(' < '),
  );

  const judging = spans.find(({ name }) => /^job .*judg/.test(name));
  t.true(treeOf(spans, judging).some(({ name }) => name.startsWith('chat ')));
  const linked = ancestorsOf(spans, judging).flatMap(({ links = [] }) => links);
  const cause = spans.find(({ spanId }) => linked.some((link) => link.spanId === spanId));
  const causes = cause ? [cause, ...ancestorsOf(spans, cause)] : [];
  t.true(
    causes.some(({ name }) => name === 'gateway request'),
    JSON.stringify(linked),
  );
  t.not(cause?.traceId, judging?.traceId);
  t.not(cause?.traceId, turn?.traceId);
});

test('no span is without its parent', async (t) => {
  const { mesh, spans } = await observedMesh(t);
  const ada = await mesh.person();
  const { sessionId, events } = await converse(t, ada);
  await sendMessage(ada, sessionId, 'Trace me.');
  await events.turns(1);
  await endSession(ada, sessionId);
  await evaluated(ada, sessionId);
  await events.close();
  await mesh.stop(); // the last spans leave with it
  const known = new Set(spans.map(({ spanId }) => spanId));
  t.true(known.size > 10);
  t.deepEqual(
    spans.filter(({ parentSpanId }) => parentSpanId && !known.has(parentSpanId)).map(({ name }) => name),
    [],
  );
});

/** A span with all that happened within it. */
function treeOf(spans: readonly Span[], root: Span | undefined): Span[] {
  if (!root) return [];
  return [
    root,
    ...spans.filter(({ parentSpanId }) => parentSpanId === root.spanId).flatMap((span) => treeOf(spans, span)),
  ];
}

/** What a span happened within, the nearest first. */
function ancestorsOf(spans: readonly Span[], span: Span | undefined): Span[] {
  const parent = span && spans.find(({ spanId }) => spanId === span.parentSpanId);
  return parent ? [parent, ...ancestorsOf(spans, parent)] : [];
}

import { eventually } from '@parley/chassis/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import type { Client } from '../src/client.ts';
import { converse, endSession, evaluated, sendMessage } from '../src/conversation.ts';
import { observedMesh } from '../src/observed-mesh.ts';
import type { Span } from '../src/trace-collector.ts';

const mesh = observedMesh(test);

// One after the other: where both share a mesh, the spans of each are its own.
test.serial(
  'one trace leads from sendMessage to the last chunk, and one from endSession to the evaluation, by link',
  async (t) => {
    const { person, collector } = await mesh(t);
    await converseToTheEnd(t, await person());
    const seen = () => tracesIn(collector.spans);
    // Each process sends its own spans, in its own time.
    await eventually('both traces are whole', () => isWhole(seen())).catch(() => undefined);

    const { turn, inTurn, beforeTurn, judging, inJudging, cause, beforeJudging } = seen();
    t.true(includes(inTurn, /RunTurn$/), `the call of agent: ${inTurn}`);
    t.true(includes(inTurn, /^chat /), `the model's: ${inTurn}`);
    t.true(includes(beforeTurn, /^gateway request$/), beforeTurn.join(' < '));
    t.true(includes(beforeTurn, /^session/), beforeTurn.join(' < '));
    t.true(includes(inJudging, /^chat /), inJudging.join());
    t.true(includes(beforeJudging, /^gateway request$/), beforeJudging.join(' < '));
    t.not(cause?.traceId, judging?.traceId);
    t.not(cause?.traceId, turn?.traceId);
  },
);

test.serial('no span is without its parent', async (t) => {
  const { person, collector, told } = await mesh(t);
  await converseToTheEnd(t, await person());
  await told();
  const orphans = () => {
    const known = new Set(collector.spans.map(({ spanId }) => spanId));
    return collector.spans.filter(({ parentSpanId }) => parentSpanId && !known.has(parentSpanId));
  };
  await eventually('the last parents are there', () => orphans().length === 0).catch(() => undefined);
  t.true(collector.spans.length > 10);
  t.deepEqual(
    orphans().map(({ name }) => name),
    [],
  );
});

async function converseToTheEnd(t: ExecutionContext, ada: Client): Promise<void> {
  const { sessionId, events } = await converse(t, ada);
  await sendMessage(ada, sessionId, 'Trace me.');
  await events.turns(1);
  await endSession(ada, sessionId);
  await evaluated(ada, sessionId);
  await events.close();
}

/** The names of what happened within and around the turn and the judgement, the nearest first. */
function tracesIn(spans: readonly Span[]) {
  const names = (found: Span[]) => found.map(({ name }) => name);
  const turn = spans.find(({ name }) => /^job .*turn/.test(name));
  const judging = spans.find(({ name }) => /^job .*judg/.test(name));
  const links = ancestorsOf(spans, judging).flatMap((span) => span.links ?? []);
  const cause = spans.find(({ spanId }) => links.some((link) => link.spanId === spanId));
  return {
    turn,
    inTurn: names(treeOf(spans, turn)),
    beforeTurn: names(ancestorsOf(spans, turn)),
    judging,
    inJudging: names(treeOf(spans, judging)),
    cause,
    beforeJudging: names(cause ? [cause, ...ancestorsOf(spans, cause)] : []),
  };
}

function isWhole({ inTurn, beforeTurn, inJudging, beforeJudging }: ReturnType<typeof tracesIn>): boolean {
  return (
    includes(inTurn, /RunTurn$/) &&
    [inTurn, inJudging].every((names) => includes(names, /^chat /)) &&
    [beforeTurn, beforeJudging].every((names) => includes(names, /^gateway request$/)) &&
    includes(beforeTurn, /^session/)
  );
}

function includes(names: string[], pattern: RegExp): boolean {
  return names.some((name) => pattern.test(name));
}

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

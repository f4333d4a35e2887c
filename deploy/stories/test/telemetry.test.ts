import { eventually } from '@parley/chassis/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { converse, endSession, evaluated, sendMessage } from '../src/conversation.ts';
import type { TestMesh } from '../src/mesh.ts';
import { type Observed, observe, type Span } from '../src/observed.ts';
import { stories } from '../src/stories.ts';

const story = stories(test);

story(
  'one trace leads from sendMessage to the last chunk, and one from endSession to the evaluation, by link',
  async (t, mesh) => {
    const observed = observe(mesh);
    const requestIds = await converseToTheEnd(t, mesh);
    const seen = () => tracesIn(spansOf(observed, requestIds));
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

story('no span is without its parent', async (t, mesh) => {
  const observed = observe(mesh);
  const requestIds = await converseToTheEnd(t, mesh);
  await observed.toldAll();
  const mine = () => spansOf(observed, requestIds);
  const orphans = () => {
    const spans = mine();
    const known = new Set(spans.map(({ spanId }) => spanId));
    return spans.filter(({ parentSpanId }) => parentSpanId && !known.has(parentSpanId)).map(({ name }) => name);
  };
  await eventually('the last parents are there', () => orphans().length === 0).catch(() => undefined);
  t.true(mine().length > 10);
  t.deepEqual(orphans(), []);
});

/** @returns the ids of the requests that it took. */
async function converseToTheEnd(t: ExecutionContext, mesh: TestMesh): Promise<ReadonlySet<string>> {
  const ada = await mesh.person();
  const { sessionId, events } = await converse(t, ada);
  await sendMessage(ada, sessionId, 'Trace me.');
  await events.turns(1);
  await endSession(ada, sessionId);
  await evaluated(ada, sessionId);
  await events.close();
  return ada.requestIds;
}

/** The spans of all that these requests have led to: others are at work on the mesh meanwhile. */
function spansOf(observed: Observed, requestIds: ReadonlySet<string>): Span[] {
  const lines = observed
    .log()
    .split('\n')
    .filter((line) => line.includes('"requestId"'));
  const told = lines.map((line) => JSON.parse(line) as { requestId: string; traceId?: string });
  const traces = new Set(told.flatMap(({ requestId, traceId }) => (requestIds.has(requestId) && traceId) || []));
  const spans = observed.spans();
  // What an event sets off has a trace of its own, which names the one of its cause by a link.
  const linked = spans.flatMap(({ traceId, links = [] }) =>
    links.some((link) => traces.has(link.traceId)) ? traceId : [],
  );
  const all = new Set([...traces, ...linked]);
  return spans.filter(({ traceId }) => all.has(traceId));
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

import { measureJson } from '@parley/json-schema/json-size';
import { processorMs, withinProcessorTime } from '@parley/json-schema/within-processor-time';
import { boundedOutput, outputLimits, storedLimits, tracedOutput } from './bounded-output.ts';
import {
  type ConditionNode,
  type EffectNode,
  type Json,
  type JsonObject,
  nodeOf,
  type ResponseNode,
  type RouterNode,
  type WorkflowDefinition,
  type WorkflowNode,
} from './definition.ts';
import { compileExpression } from './expressions.ts';
import { isRepeated } from './repeated-text.ts';
import { type Scope, scopeOf } from './scope.ts';
import type {
  EffectOutcome,
  NodeError,
  NodeResult,
  WorkflowEffect,
  WorkflowFailure,
  WorkflowReply,
  WorkflowSession,
  WorkflowState,
  WorkflowTraceStep,
} from './state.ts';
import { parseStructuredContent } from './structured-content.ts';
import { compileTemplate, renderJson } from './templates.ts';

export interface WorkflowTurn {
  message: string;
  session: WorkflowSession;
  /** The person's identity; null until it is verified. */
  identity: JsonObject | null;
  /** Values that replace variables of the definition and of the session before the first node runs. */
  variables?: JsonObject;
}

export interface WorkflowEngineOptions {
  /** Milliseconds since 1970, for traces. Default `Date.now`. */
  now?: () => number;
  maxNodes?: number;
}

export type WorkflowEngine = ReturnType<typeof workflowEngine>;

export const maxNodesOfTurn = 50;

/** Maximum processor time for all evaluations of one node. */
const maxNodeMs = 50;
const maxTurnMs = 200;
/**
 * The maximum factor by which a node's time limit is raised if the machine has suspended the thread. With a smaller factor, nodes that need
 * a millisecond would fail on a busy machine; with a larger one, other work would wait too long for one node.
 */
const nodePatience = 4;
const maxMessageLength = 300;

/**
 * The remaining processor time for evaluations in a turn. It is not part of the state, which must not depend on the
 * machine.
 */
export interface EvaluationBudget {
  leftMs: number;
}

export function evaluationBudget(): EvaluationBudget {
  return { leftMs: maxTurnMs };
}

/**
 * Runs turns of a valid workflow as steps from one state to the next. It performs no I/O: whatever a node needs from
 * outside is an effect, which the caller carries out and answers with `resume`. The same states and outcomes always
 * give the same result, so a process that takes a turn over continues from the last stored state.
 */
export function workflowEngine({ now = Date.now, maxNodes = maxNodesOfTurn }: WorkflowEngineOptions = {}) {
  /**
   * Begins a turn. If the last turn ended at a node that waits for the user, and that node still exists, the turn continues there.
   * Otherwise it starts at `start` with the session's variables.
   * @param previous the state at the end of the session's last turn that did not fail
   */
  function begin(definition: WorkflowDefinition, turn: WorkflowTurn, previous?: WorkflowState): WorkflowState {
    const goesOn = previous?.status === 'waiting' && nodeOf(definition, previous.node) !== undefined;
    return {
      version: 1,
      status: 'running',
      node: goesOn ? previous.node : definition.start,
      message: turn.message,
      session: turn.session,
      identity: turn.identity,
      variables: { ...definition.variables, ...previous?.variables, ...turn.variables },
      nodes: goesOn ? previous.nodes : {},
      visits: previous?.visits ?? {},
      visited: 0,
      effect: null,
      reply: null,
      failure: null,
      trace: [],
    };
  }

  /**
   * Runs one node, to its end or to the effect that it asks for. A state that is not `running` is returned unchanged.
   * @param budget the remaining budget of the turn, which is consumed
   */
  function step(definition: WorkflowDefinition, state: WorkflowState, budget = evaluationBudget()): WorkflowState {
    if (state.status !== 'running') return state;
    const node = nodeOf(definition, state.node);
    if (!node) return failed(state, 'WORKFLOW_FAILED', { code: 'NODE_MISSING', message: 'The node is not there' });
    if (state.visited >= maxNodes) {
      return failed(state, 'WORKFLOW_LIMIT', {
        code: 'TOO_MANY_NODES',
        message: `A turn runs at most ${maxNodes} nodes`,
      });
    }
    const begun = entered(state, node, now());
    const limit = Math.min(maxNodeMs, budget.leftMs);
    try {
      const after = limit > 0 && spend(budget, limit, () => run(definition, begun, node));
      if (after) return after;
    } catch (error) {
      return nodeFailed(begun, node, { code: codeOf(node), message: messageOf(error) }, now());
    }
    if (limit < maxNodeMs) return failed(begun, 'WORKFLOW_LIMIT', turnTooLong, now());
    return nodeFailed(begun, node, { code: codeOf(node), message: 'It takes too long to evaluate' }, now());
  }

  function run(definition: WorkflowDefinition, state: WorkflowState, node: WorkflowNode): WorkflowState {
    const scope = scopeOf(definition, state);
    switch (node.kind) {
      case 'condition': {
        const { next, output } = chooseCase(node, scope);
        return moved(state, next, { output }, now());
      }
      case 'response':
        return responded(state, node, scope, now());
      default:
        return { ...state, status: 'calling', effect: effectOf(definition, state, node, scope) };
    }
  }

  /**
   * Accepts the outcome of the effect that a state waits for.
   * @throws Error if the key belongs to another effect, whose outcome was accepted earlier
   */
  function resume(
    definition: WorkflowDefinition,
    state: WorkflowState,
    key: string,
    outcome: EffectOutcome,
  ): WorkflowState {
    const { effect } = state;
    const node = nodeOf(definition, state.node);
    if (state.status !== 'calling' || effect?.key !== key)
      throw new Error(`The workflow does not wait for the effect ${key}`);
    if (!node || !isEffectNode(node)) {
      return failed(state, 'WORKFLOW_FAILED', { code: 'NODE_MISSING', message: 'The node is not there' });
    }
    const called: WorkflowState = { ...state, effect: null };
    if ('error' in outcome) return nodeFailed(called, node, shortError(outcome.error), now());
    if (node.kind === 'router') return routed(called, node, effect, outcome.output, now());
    return warned(stored(called, node, outcome.output, now()), outcome.warning);
  }

  return { begin, step, resume };
}

function entered(state: WorkflowState, node: WorkflowNode, startedAt: number): WorkflowState {
  const visit = ((Object.hasOwn(state.visits, state.node) && state.visits[state.node]) || 0) + 1;
  const { node: nodeId } = state;
  const begun: WorkflowTraceStep = {
    nodeId,
    kind: node.kind,
    visit,
    startedAt,
    durationMs: null,
    output: null,
    error: null,
    next: null,
  };
  return {
    ...state,
    visits: { ...state.visits, [nodeId]: visit },
    visited: state.visited + 1,
    trace: [...state.trace, begun],
  };
}

function effectOf(
  definition: WorkflowDefinition,
  state: WorkflowState,
  node: EffectNode,
  scope: Scope,
): WorkflowEffect {
  const nodeId = state.node;
  const text = (source: string) => compileTemplate(source).text(scope);
  const base = { nodeId, key: `${nodeId}#${state.visits[nodeId]}`, ...given('timeoutMs', node.timeoutMs) };
  switch (node.kind) {
    case 'llm':
      return {
        ...base,
        kind: 'llm',
        prompt: text(node.prompt),
        ...given('system', node.system === undefined ? undefined : text(node.system)),
        history: node.history === true,
        ...given('knowledgeBaseId', node.knowledgeBaseId),
        ...given('topK', node.topK),
        ...given('tools', node.tools),
        isRepeated: isRepeated(definition, nodeId, node),
      };
    case 'router':
      return {
        ...base,
        kind: 'router',
        instruction: text(node.instruction),
        message: state.message,
        routes: node.routes.map(({ label, description }) => ({ label, description })),
        refused: null,
      };
    case 'tool':
      return {
        ...base,
        kind: 'tool',
        connectorId: node.connectorId,
        tool: node.tool,
        args: renderArgs(node.args, scope),
      };
    case 'action':
      return { ...base, kind: 'action', actionId: node.actionId, args: renderArgs(node.args, scope) };
  }
}

function renderArgs(args: JsonObject, scope: Scope): JsonObject {
  return boundedOutput(renderJson(args, scope)) as JsonObject;
}

function chooseCase(node: ConditionNode, scope: Scope): { next: string; output: Json } {
  for (const { when, next } of node.cases) if (compileExpression(when).isTrue(scope)) return { next, output: when };
  return { next: node.otherwise, output: null };
}

/** Continues after a router. If the model's label is unknown, asks the model once more, then takes the fallback. */
function routed(
  state: WorkflowState,
  node: RouterNode,
  effect: WorkflowEffect,
  label: Json,
  endedAt: number,
): WorkflowState {
  const route = node.routes.find((each) => each.label === label);
  if (route) return moved(state, route.next, { output: route.label }, endedAt);
  if (label === null || effect.kind !== 'router' || effect.refused !== null) {
    return moved(state, node.fallback, { output: null }, endedAt);
  }
  const refused = shortText(typeof label === 'string' ? label : JSON.stringify(label));
  return { ...state, effect: { ...effect, key: `${effect.key}.2`, refused } };
}

function stored(
  state: WorkflowState,
  node: Exclude<EffectNode, RouterNode>,
  given: Json,
  endedAt: number,
): WorkflowState {
  let output: Json;
  try {
    output = boundedOutput(given);
  } catch (error) {
    return nodeFailed(state, node, { code: 'OUTPUT_TOO_LARGE', message: messageOf(error) }, endedAt);
  }
  const next = moved(
    { ...state, variables: { ...state.variables, [node.output]: output } },
    node.next,
    { output },
    endedAt,
  );
  const { problem } = measureJson([next.variables, next.nodes], storedLimits);
  if (problem === undefined) return next;
  return failed(state, 'WORKFLOW_LIMIT', stateTooLarge(problem), endedAt);
}

/** Adds a warning to the last step, unless that step has failed. */
function warned(state: WorkflowState, warning: NodeError | undefined): WorkflowState {
  const last = state.trace.at(-1);
  if (!warning || !last || last.error) return state;
  return { ...state, trace: [...state.trace.slice(0, -1), { ...last, error: shortError(warning) }] };
}

function responded(state: WorkflowState, node: ResponseNode, scope: Scope, endedAt: number): WorkflowState {
  const { structuredContent, error } = contentOf(node, scope);
  const reply: WorkflowReply = { nodeId: state.node, text: compileTemplate(node.text).text(scope), structuredContent };
  const ended = moved(state, null, keptReply(state, reply), endedAt);
  const output = tracedOutput({ text: reply.text, structuredContent: structuredContent as Json });
  return {
    ...ended,
    reply,
    trace: traced(ended.trace, endedAt, { output, error, next: null }),
    ...(node.next === undefined ? { status: 'ended' } : { status: 'waiting', node: node.next }),
  };
}

/**
 * Returns the part of a response that later nodes can read. The response is sent even if there is no room to store it,
 * so that the session can continue.
 */
function keptReply({ node, nodes, variables }: WorkflowState, { text }: WorkflowReply): NodeResult {
  const kept = { output: { text: boundedOutput(text) } };
  const { problem } = measureJson([variables, { ...nodes, [node]: kept }], storedLimits);
  return problem === undefined ? kept : { error: stateTooLarge(problem) };
}

function stateTooLarge(problem: string): NodeError {
  return { code: 'STATE_TOO_LARGE', message: `What the nodes have put out ${problem}` };
}

/** Renders structured content. If rendering fails, the text is sent without structured content. */
function contentOf(
  node: ResponseNode,
  scope: Scope,
): { structuredContent: WorkflowReply['structuredContent']; error: NodeError | null } {
  if (node.structuredContent === undefined) return { structuredContent: null, error: null };
  try {
    const rendered = renderJson(node.structuredContent, scope);
    const { problem } = measureJson(rendered, outputLimits);
    if (problem !== undefined) throw new Error(`structuredContent ${problem}`);
    return { structuredContent: parseStructuredContent(rendered), error: null };
  } catch (error) {
    return { structuredContent: null, error: { code: 'STRUCTURED_CONTENT', message: messageOf(error) } };
  }
}

/** Ends a node and moves to the next node. */
function moved(state: WorkflowState, next: string | null, result: NodeResult, endedAt: number): WorkflowState {
  const { output = null, error = null } = result;
  return {
    ...state,
    status: 'running',
    node: next ?? state.node,
    nodes: { ...state.nodes, [state.node]: result },
    effect: null,
    trace: traced(state.trace, endedAt, { output: tracedOutput(output), error, next }),
  };
}

function nodeFailed(state: WorkflowState, node: WorkflowNode, error: NodeError, endedAt: number): WorkflowState {
  if ('onError' in node && node.onError !== undefined) return moved(state, node.onError, { error }, endedAt);
  return failed(state, 'WORKFLOW_FAILED', error, endedAt);
}

/** @param endedAt omitted if no node had begun */
function failed(
  state: WorkflowState,
  code: WorkflowFailure['code'],
  error: NodeError,
  endedAt?: number,
): WorkflowState {
  const trace = endedAt === undefined ? state.trace : traced(state.trace, endedAt, { output: null, error, next: null });
  return { ...state, status: 'failed', effect: null, failure: { code, nodeId: state.node, error }, trace };
}

function traced(
  trace: WorkflowTraceStep[],
  endedAt: number,
  end: Pick<WorkflowTraceStep, 'output' | 'error' | 'next'>,
): WorkflowTraceStep[] {
  const last = trace.at(-1);
  if (!last) return trace;
  return [...trace.slice(0, -1), { ...last, ...end, durationMs: Math.max(0, endedAt - last.startedAt) }];
}

function isEffectNode(node: WorkflowNode): node is EffectNode {
  return node.kind !== 'condition' && node.kind !== 'response';
}

const turnTooLong: NodeError = {
  code: 'EVALUATION_TIME',
  message: `The nodes of a turn evaluate for at most ${maxTurnMs} ms`,
};

/** Runs work within the budget. @returns undefined if the work takes longer than `ms` */
function spend<Result extends object>(budget: EvaluationBudget, ms: number, work: () => Result): Result | undefined {
  const startedAt = processorMs();
  try {
    return withinProcessorTime(Math.ceil(ms), work, { patience: nodePatience });
  } finally {
    budget.leftMs -= processorMs() - startedAt;
  }
}

function codeOf(node: WorkflowNode): string {
  return node.kind === 'condition' ? 'EXPRESSION_FAILED' : 'TEMPLATE_FAILED';
}

function messageOf(error: unknown): string {
  if (error instanceof RangeError) return 'It is nested too deeply, or too long';
  return shortText(error instanceof Error ? error.message : 'It failed');
}

function shortError({ code, message }: NodeError): NodeError {
  return { code: shortText(code), message: shortText(message) };
}

function shortText(text: string): string {
  return (text.length > maxMessageLength ? `${text.slice(0, maxMessageLength)}…` : text).toWellFormed();
}

/** Returns an object with the field if the value is defined, otherwise an empty object. */
function given<Key extends string, Value>(key: Key, value: Value | undefined): { [K in Key]?: Value } {
  return (value === undefined ? {} : { [key]: value }) as { [K in Key]?: Value };
}

import type { Json, JsonObject, NodeKind, ToolReference } from './definition.ts';
import type { StructuredContent } from './structured-content.ts';

/**
 * A session's position in its workflow: plain JSON, never changed in place, so that another process can continue from
 * it.
 */
export interface WorkflowState {
  version: 1;
  /**
   * - `running`: `node` runs next.
   * - `calling`: the caller carries out `effect` for `node`.
   * - `waiting`: the turn has ended; the next message continues with `node`.
   * - `ended`: the turn has ended; the next message starts the workflow again.
   * - `failed`: the turn has failed, see `failure`.
   */
  status: 'running' | 'calling' | 'waiting' | 'ended' | 'failed';
  node: string;
  message: string;
  session: WorkflowSession;
  identity: JsonObject | null;
  variables: JsonObject;
  nodes: Record<string, NodeResult>;
  /** Number of times that each node was begun in the session. Effect keys contain these numbers, so that no key is used twice. */
  visits: Record<string, number>;
  /** Number of nodes begun in this turn. */
  visited: number;
  effect: WorkflowEffect | null;
  reply: WorkflowReply | null;
  failure: WorkflowFailure | null;
  /** The trace of this turn. */
  trace: WorkflowTraceStep[];
}

export interface WorkflowSession {
  id: Json;
  clientExternalId: Json;
  metadata: Json;
  startedAt: Json;
}

export interface NodeResult {
  output?: Json;
  error?: NodeError;
}

export interface NodeError {
  code: string;
  message: string;
}

export interface WorkflowReply {
  nodeId: string;
  text: string;
  structuredContent: StructuredContent | null;
}

export interface WorkflowFailure {
  code: 'WORKFLOW_FAILED' | 'WORKFLOW_LIMIT';
  nodeId: string;
  /** The error of the failed node. */
  error: NodeError;
}

export interface WorkflowTraceStep {
  nodeId: string;
  kind: NodeKind;
  visit: number;
  /** Milliseconds since 1970. */
  startedAt: number;
  /** Null while the node runs. */
  durationMs: number | null;
  output: Json;
  error: NodeError | null;
  /** The node after this one in the turn. */
  next: string | null;
}

interface EffectBase {
  nodeId: string;
  /** Identifies the call: the same in every attempt, and different for different calls. */
  key: string;
  timeoutMs?: number;
}

export interface LlmEffect extends EffectBase {
  kind: 'llm';
  prompt: string;
  system?: string;
  history: boolean;
  knowledgeBaseId?: number;
  topK?: number;
  tools?: ToolReference[];
  /** Whether the response after this node only repeats the node's text, so that the text can be streamed while it is written. */
  isRepeated: boolean;
}

export interface RouterEffect extends EffectBase {
  kind: 'router';
  instruction: string;
  message: string;
  routes: { label: string; description: string }[];
  /** The model's first answer, if it was not one of the labels; null at the first request. */
  refused: string | null;
}

export interface ToolEffect extends EffectBase {
  kind: 'tool';
  connectorId: number;
  tool: string;
  args: JsonObject;
}

export interface ActionEffect extends EffectBase {
  kind: 'action';
  actionId: number;
  args: JsonObject;
}

/** A call that the engine asks its caller to make, with all inputs. */
export type WorkflowEffect = LlmEffect | RouterEffect | ToolEffect | ActionEffect;

/**
 * The outcome of an effect, with a warning for the trace if the effect partly failed. The output is:
 * - text for an llm node;
 * - a label for a router, or null if none fits;
 * - any JSON for tools and actions.
 */
export type EffectOutcome = { output: Json; warning?: NodeError } | { error: NodeError };

/** The definition of a workflow, as `definition.schema.json` describes it. */
export interface WorkflowDefinition {
  $schema?: string;
  version: 1;
  start: string;
  variables?: JsonObject;
  nodes: Record<string, WorkflowNode>;
}

export type Json = string | number | boolean | null | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json;
}

export type WorkflowNode = LlmNode | RouterNode | ConditionNode | ToolNode | ActionNode | ResponseNode;
export type NodeKind = WorkflowNode['kind'];

/** Nodes that the engine's caller carries out. */
export type EffectNode = LlmNode | RouterNode | ToolNode | ActionNode;

interface Fallible {
  onError?: string;
  timeoutMs?: number;
}

export type ToolReference = { connectorId: number; tool: string } | { actionId: number };

export interface LlmNode extends Fallible {
  kind: 'llm';
  prompt: string;
  system?: string;
  /** Whether the conversation is sent before the prompt. */
  history?: boolean;
  knowledgeBaseId?: number;
  topK?: number;
  tools?: ToolReference[];
  output: string;
  next: string;
}

export interface RouterNode extends Fallible {
  kind: 'router';
  instruction: string;
  routes: { label: string; description: string; next: string }[];
  fallback: string;
}

export interface ConditionNode {
  kind: 'condition';
  cases: { when: string; next: string }[];
  otherwise: string;
}

export interface ToolNode extends Fallible {
  kind: 'tool';
  connectorId: number;
  tool: string;
  args: JsonObject;
  output: string;
  next: string;
}

export interface ActionNode extends Fallible {
  kind: 'action';
  actionId: number;
  args: JsonObject;
  output: string;
  next: string;
}

export interface ResponseNode {
  kind: 'response';
  text: string;
  structuredContent?: JsonObject;
  next?: string;
}

/** A problem of a definition: `path` locates it (`nodes.greet.next`), `message` completes the sentence "<path> …". */
export interface WorkflowIssue {
  path: string;
  message: string;
}

export const definitionLimits = {
  maxBytes: 262_144,
  maxDepth: 32,
  maxValues: 20_000,
  maxNodes: 200,
  /** Maximum number of Liquid tags and outputs, in all templates together. */
  maxTemplateTags: 1_000,
  /** Maximum number of characters within Liquid tags and outputs, in all templates together. */
  maxTemplateCode: 30_000,
  /** Maximum characters in all expressions together. */
  maxExpressionCharacters: 10_000,
  maxIssues: 100,
  /** Maximum characters of an issue's path, and of its message. */
  maxIssueText: 500,
};

/** Returns the node with this id; undefined if there is none. Names that every object inherits are not ids. */
export function nodeOf(definition: WorkflowDefinition, id: string): WorkflowNode | undefined {
  return Object.hasOwn(definition.nodes, id) ? definition.nodes[id] : undefined;
}

import { aborted } from '@parley/kernel/timing/abort';
import { Role, type TurnUsage } from '@parley/protos/parley/agent/v1/agent';
import type { Citation } from '@parley/protos/parley/agent/v1/citations';
import type { ToolCall } from '@parley/protos/parley/agent/v1/tool_calls';
import { type ModelScript, type ModelServer, startModelServer } from '@parley/testing/model-server';
import type { ExecutionContext } from 'ava';
import type { ApiName } from '../src/models/testing/apis.ts';
import { type AgentUnit, agentUnit, inTenant } from './agent-unit.ts';

const hello = [{ role: Role.ROLE_USER, text: 'Hello!' }];

/** Starts the agent unit with a scripted model server. */
export async function unitWithModel(
  t: ExecutionContext,
  script: ModelScript,
  env: Record<string, string> = {},
): Promise<AgentUnit & { server: ModelServer }> {
  const server = await startModelServer({ script });
  t.teardown(() => server.stop());
  const models = { HOSTED_SMALL_MODEL_URL: server.url, HOSTED_SMALL_MODEL_MODEL: 'small-1' };
  return { ...(await agentUnit(t, { ...models, ...env })), server };
}

/** Starts the agent unit with a scripted model server that serves the priced model `gpt-4o` in the wire format `api`. */
export async function unitOn(
  t: ExecutionContext,
  api: ApiName,
  script: ModelScript,
  env: Record<string, string> = {},
): Promise<AgentUnit & { server: ModelServer }> {
  if (api === 'openai-compatible') return unitWithModel(t, script, { HOSTED_SMALL_MODEL_MODEL: 'gpt-4o', ...env });
  const server = await startModelServer({ script });
  t.teardown(() => server.stop());
  const provider = api === 'bedrock' ? 'CLOUD_HOSTED_MODELS' : 'DIRECT_MODEL_API';
  const models = {
    [`${provider}_API`]: api,
    [`${provider}_URL`]: server.urls[api],
    [`${provider}_KEY`]: 'id:secret',
    [`${provider}_MODEL`]: 'gpt-4o',
  };
  return { ...(await agentUnit(t, { ...models, ...env })), server };
}

export interface Reply {
  texts: string[];
  /** All usage reports that the turn sent, in order. */
  usages: TurnUsage[];
  /** The size, in tokens, of the context of the last model request before the first text. */
  requested?: { contextTokens: number };
  /** The last usage report; undefined if the turn failed. */
  finished?: TurnUsage | undefined;
  /** The last citations, and how many texts preceded them. */
  cited?: { citations: Citation[]; textsBefore: number };
  /** Events that report the beginning or the end of a tool call. */
  toolCalls: ToolCall[];
  structuredContent?: unknown;
  /** Why the model stopped; undefined if the turn did not report it. */
  finishReason?: string;
  error?: unknown;
}

/** Runs one turn to its end. A failure is returned in `error`. */
export async function runTurn(
  unit: AgentUnit,
  agentId: number,
  {
    history = hello,
    caller = inTenant(1),
    callId = 'c',
    signal,
    stopSignal,
    onText,
    onUsage,
    onToolCall,
    ...which
  }: TurnOptions = {},
): Promise<Reply> {
  const reply: Reply = { texts: [], usages: [], toolCalls: [] };
  const call = {
    caller,
    expectedErrors: ['notFound', 'invalid'] as ('notFound' | 'invalid')[],
    ...(signal && { signal }),
  };
  const ended = new AbortController();
  async function* requests() {
    yield { agentId, sessionId: 1, callId, history, turnKey: 'turn 1', ...which };
    if (!stopSignal) return;
    await aborted(AbortSignal.any([stopSignal, ended.signal]));
    if (stopSignal.aborted) yield { stop: true };
  }
  try {
    for await (const part of unit.rpc.runTurn(requests(), call)) {
      const { text, usage, citations, toolCall, structuredContentJson } = part;
      if (structuredContentJson) reply.structuredContent = JSON.parse(structuredContentJson);
      if (part.finishReason !== '') reply.finishReason = part.finishReason;
      const textsBefore = reply.texts.length;
      if (usage) reply.usages.push(usage);
      if (usage && usage.contextTokens > 0 && textsBefore === 0 && text === '') {
        reply.requested = { contextTokens: usage.contextTokens };
      }
      if (citations) reply.cited = { citations: citations.citations, textsBefore };
      if (text !== '') reply.texts.push(text);
      if (toolCall) reply.toolCalls.push(toolCall);
      if (toolCall) onToolCall?.(toolCall);
      if (usage) onUsage?.(usage);
      if (text !== '') onText?.(text);
    }
    reply.finished = reply.usages.at(-1);
  } catch (error) {
    reply.error = error;
  } finally {
    ended.abort();
  }
  return reply;
}

export interface TurnOptions {
  history?: { role: Role; text: string }[];
  caller?: ReturnType<typeof inTenant>;
  callId?: string;
  /** When this signal aborts, the call is cancelled. */
  signal?: AbortSignal;
  /** When this signal aborts, the turn is asked to stop its reply. */
  stopSignal?: AbortSignal;
  onText?: (text: string) => void;
  onUsage?: (usage: TurnUsage) => void;
  onToolCall?: (call: ToolCall) => void;
  turnKey?: string;
  resumes?: boolean;
  sessionId?: number;
  clientExternalId?: string;
  metadataJson?: string;
  sessionStartedAt?: Date;
  testDraft?: boolean;
  identityJson?: string;
  includesEarlierUsage?: boolean;
  opens?: boolean;
  linkedIdentities?: { product: string; subject: string }[];
}

import { type RequestUsage, Role, type TurnFinished, type TurnUsage } from '@parley/protos/parley/agent/v1/agent';
import type { Citation } from '@parley/protos/parley/agent/v1/citations';
import { type ModelScript, type ModelServer, startModelServer } from '@parley/testing/model-server';
import type { ExecutionContext } from 'ava';
import { type AgentUnit, agentUnit, inTenant } from './agent-unit.ts';

const hello = [{ role: Role.ROLE_USER, text: 'Hello!' }];

/** The unit with a scripted model server. */
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

export interface Reply {
  texts: string[];
  /** The last estimate of the context, and how many texts preceded it. */
  requested?: { contextTokens: number; textsBefore: number };
  /** What the request had taken when the agent told last, beyond its estimate. */
  used?: RequestUsage;
  /** What calls before the reply's own took, each time in all. */
  earlier?: TurnUsage[];
  finished?: TurnFinished;
  /** The last ones, and how many texts preceded them. */
  cited?: { citations: Citation[]; textsBefore: number };
  error?: unknown;
}

/** Runs one turn to its end; a failure is in `error`. */
export async function runTurn(
  unit: AgentUnit,
  agentId: number,
  { history = hello, caller = inTenant(1), callId = 'c', signal, onText, onUsed }: TurnOptions = {},
): Promise<Reply> {
  const reply: Reply = { texts: [] };
  const call = {
    caller,
    expectedErrors: ['notFound', 'invalid'] as ('notFound' | 'invalid')[],
    ...(signal && { signal }),
  };
  try {
    for await (const { event } of unit.rpc.runTurn({ agentId, sessionId: 1, callId, history }, call)) {
      if (event?.$case === 'earlier') (reply.earlier ??= []).push(event.value);
      if (event?.$case === 'used') {
        reply.used = event.value;
        onUsed?.(event.value);
      }
      if (event?.$case === 'contextTokens')
        reply.requested = { contextTokens: event.value, textsBefore: reply.texts.length };
      if (event?.$case === 'citations')
        reply.cited = { citations: event.value.citations, textsBefore: reply.texts.length };
      if (event?.$case === 'finished') reply.finished = event.value;
      if (event?.$case !== 'text') continue;
      reply.texts.push(event.value);
      onText?.(event.value);
    }
  } catch (error) {
    reply.error = error;
  }
  return reply;
}

export interface TurnOptions {
  history?: { role: Role; text: string }[];
  caller?: ReturnType<typeof inTenant>;
  callId?: string;
  signal?: AbortSignal;
  onText?: (text: string) => void;
  onUsed?: (usage: RequestUsage) => void;
}

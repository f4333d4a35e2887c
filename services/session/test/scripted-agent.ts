import { once } from 'node:events';
import type { Callers } from '@parley/kernel/caller';
import { badRequest, notFound } from '@parley/kernel/errors';
import type { Addresses } from '@parley/kernel/processes/addresses';
import {
  Agent,
  AgentServiceDefinition,
  type Avatar,
  type Persona,
  type RunTurnRequest,
  type RunTurnResponse,
  type TurnUsage,
} from '@parley/protos/parley/agent/v1/agent';
import { type ToolCall, ToolCallStatus } from '@parley/protos/parley/agent/v1/tool_calls';
import { noUsage } from '@parley/protos/turn-usage';
import { createGate, type Gate } from '@parley/testing/gate';
import { serveStub } from '@parley/testing/serve-stub';
import type { ExecutionContext } from 'ava';

/** One call of RunTurn. */
export interface TurnCall {
  request: RunTurnRequest;
  asked: string;
  /** Aborts when the caller asks the agent to stop or cancels the call. */
  signal: AbortSignal;
  /** How the call ended; undefined while it runs. */
  end: 'finished' | 'stopped' | 'cancelled' | 'failed' | undefined;
}

export const foreignAgentId = 6;

type Script = (call: TurnCall) => AsyncGenerator<RunTurnResponse>;

/** An agent service over gRPC with scripted replies. */
export interface ScriptedAgent {
  /** Agents by id. `foreignAgentId` belongs to tenant 2, the others to tenant 1. */
  agents: Map<number, Agent>;
  calls: TurnCall[];
  /** The personas for which hidden agents were requested. */
  personas: Persona[];
  /** Produces the reply to each call. Default: `Re: <message>`, word by word. */
  script: Script;
}

/** The avatar of every existing agent; it is a hosted avatar. */
export const avatar: Avatar = {
  glb: 'aria.glb',
  gender: 'F',
  ttsVoice: 'en-us+f3',
  ttsLang: 'en-US',
  lipsyncLang: 'en',
  speakingRate: 1.5,
  vadThreshold: 0.25,
};
export const hosted = { vendorAvatarId: 'anna', vendorAvatarModel: 'v2' };

const nothingNew: RunTurnResponse = { text: '', structuredContentJson: '', finishReason: '' };

/** Returns the response that an agent sends with the last text of a workflow's reply. */
export const shown = (structuredContent: object): RunTurnResponse => ({
  ...nothingNew,
  structuredContentJson: JSON.stringify(structuredContent),
});

/** Returns a response with a piece of text. @param usage the usage of the turn so far, this text included */
export const text = (value: string, usage?: Partial<TurnUsage>): RunTurnResponse => ({
  ...nothingNew,
  text: value,
  ...(usage && { usage: { ...noUsage, ...usage } }),
});

/** Returns a response with changed usage and no text, e.g. when the agent calls its model. */
export const used = (usage: Partial<TurnUsage>): RunTurnResponse => text('', usage);

/** Returns the response that an agent with knowledge bases sends before its reply. */
export const cited = (...documentNames: string[]): RunTurnResponse => ({
  ...nothingNew,
  citations: { citations: documentNames.map(citationOf) },
});

export const citationOf = (documentName: string) => ({
  documentId: 4,
  documentName,
  chunkIndex: 2,
  score: 0.75,
  preview: `From ${documentName}`,
});

/** Returns the response that an agent sends when a tool call starts or ends. */
export const called = (
  callId: string,
  status: 'STARTED' | 'SUCCEEDED' | 'FAILED' | 'CANCELLED',
  call: Partial<ToolCall> = {},
): RunTurnResponse => ({
  ...nothingNew,
  toolCall: {
    callId,
    name: 'search',
    status: ToolCallStatus[`TOOL_CALL_STATUS_${status}`],
    durationMs: status === 'STARTED' ? 0 : 12,
    errorKind: status === 'FAILED' ? 'TOOL_FAILED' : '',
    ...call,
  },
});

/** Returns the last response of a complete reply: its usage and finish reason. */
export const finished = (modelId = 'script', finishReason = 'STOP'): RunTurnResponse => ({
  ...used({ tokensIn: 20, tokensOut: 5, contextTokens: 25, costUsdE8: 150n, providerId: 'TEST', modelId }),
  finishReason,
});

/** Waits for the gate; rejects if the call is cancelled first. */
export async function waitForGate(gate: Gate, { signal }: TurnCall): Promise<void> {
  signal.throwIfAborted();
  await Promise.race([gate.pass(), once(signal, 'abort').then(() => signal.throwIfAborted())]);
}

/** Sends one chunk each time the gate opens, then finishes. */
export function gatedReply(gate: Gate, ...chunks: string[]): Script {
  return async function* (call) {
    for (const chunk of chunks) {
      await waitForGate(gate, call);
      yield text(chunk);
    }
    await waitForGate(gate, call);
    yield finished();
  };
}

export async function scriptedAgent(
  t: ExecutionContext,
  callers: Callers,
  addresses: Addresses,
): Promise<ScriptedAgent> {
  const self: ScriptedAgent = {
    agents: new Map([
      [1, newAgent(1)],
      [2, { ...newAgent(2), openingGreeting: 'Hello there' }],
      [3, { ...newAgent(3), active: false }],
      [4, { ...newAgent(4), deleted: true }],
      [5, { ...newAgent(5), openingGreeting: 'Never said', workflowId: 9 }],
      [foreignAgentId, newAgent(foreignAgentId)],
    ]),
    calls: [],
    personas: [],
    script: async function* ({ asked }) {
      for (const word of `Re: ${asked}`.split(/(?<= )/)) yield text(word);
      yield finished();
    },
  };
  await serveStub(
    t,
    AgentServiceDefinition,
    {
      async getAgent({ agentId }, { caller }) {
        const owner = agentId === foreignAgentId ? 2 : 1;
        const agent = caller.tenantId === owner ? self.agents.get(agentId) : undefined;
        if (!agent) throw notFound('Agent', agentId);
        return { agent };
      },
      async resolveEmbedAgent({ agent: which }, { caller }) {
        if (caller.tenantId !== 1 || !which) throw notFound('Agent', 0);
        if (which.$case === 'agentId') {
          const agent = which.value === foreignAgentId ? undefined : self.agents.get(which.value);
          if (!agent) throw notFound('Agent', which.value);
          return { agent, avatar: { ...avatar, hosted } };
        }
        self.personas.push(which.value);
        if (which.value.name === 'One too many') {
          throw badRequest('A tenant has at most 1 agents of personas', 'LIMIT_REACHED');
        }
        return { agent: { ...newAgent(9), name: which.value.name }, avatar };
      },
      async *runTurn(requests, { signal }) {
        const reader = requests[Symbol.asyncIterator]();
        const { value: request } = await reader.next();
        const stop = new AbortController();
        const whenNext = reader.next();
        whenNext.then(({ value }) => value?.stop && stop.abort()).catch(() => undefined);
        const call: TurnCall = {
          request,
          asked: request.history.at(-1)?.text ?? '',
          signal: AbortSignal.any([signal, stop.signal]),
          end: undefined,
        };
        self.calls.push(call);
        try {
          yield* self.script(call);
          call.end = stop.signal.aborted ? 'stopped' : 'finished';
        } catch (error) {
          if (!stop.signal.aborted) throw error;
          call.end = 'stopped';
        } finally {
          call.end ??= signal.aborted ? 'cancelled' : 'failed';
        }
      },
    },
    { callers, addresses },
  );
  return self;
}

function newAgent(id: number): Agent {
  return Agent.fromPartial({
    id,
    name: 'Ada',
    personaPrompt: 'You are Ada',
    position: 'Tutor',
    useCase: 'CUSTOM',
    active: true,
  });
}

export { createGate };

import { once } from 'node:events';
import type { Addresses } from '@parley/kernel/addresses';
import type { Callers } from '@parley/kernel/caller';
import { notFound } from '@parley/kernel/errors';
import { createLogger } from '@parley/kernel/log';
import { createMetrics } from '@parley/kernel/metrics';
import {
  Agent,
  AgentServiceDefinition,
  type RunTurnRequest,
  type RunTurnResponse,
} from '@parley/protos/parley/agent/v1/agent';
import { rpcServer } from '@parley/rpc/server';
import { createGate, type Gate } from '@parley/testing/gate';
import type { ExecutionContext } from 'ava';

/** One call of RunTurn, as the agent saw it. */
export interface TurnCall {
  request: RunTurnRequest;
  /** The message to be answered. */
  asked: string;
  signal: AbortSignal;
  /** How the call ended: `undefined` while it runs. */
  end: 'finished' | 'cancelled' | 'failed' | undefined;
}

/** The agent of tenant 2. */
export const anotherTenants = 6;

type Script = (call: TurnCall) => AsyncGenerator<RunTurnResponse>;

/** An agent service over gRPC that says what a test has it say. */
export interface ScriptedAgent {
  /** The agents by id: `anotherTenants` is tenant 2's, the others are tenant 1's. */
  agents: Map<number, Agent>;
  calls: TurnCall[];
  /** What comes of the calls from now on. At first: `Re: <message>`, word by word. */
  script: Script;
}

export const text = (value: string): RunTurnResponse => ({ event: { $case: 'text', value } });

/** What an agent says first, as its model is about to be asked. */
export const asking = (contextTokens: number): RunTurnResponse => ({
  event: { $case: 'contextTokens', value: contextTokens },
});

export const finished = (tokensOut = 5): RunTurnResponse => ({
  event: {
    $case: 'finished',
    value: { tokensIn: 20, tokensOut, contextTokens: 25, costUsdE8: 150n, providerId: 'TEST', modelId: 'script' },
  },
});

/** Waits for a gate, unless the call is cancelled before. */
export async function held(gate: Gate, { signal }: TurnCall): Promise<void> {
  signal.throwIfAborted();
  await Promise.race([gate.pass(), once(signal, 'abort').then(() => signal.throwIfAborted())]);
}

/** Says each piece when the gate lets it, and finishes. */
export function gatedReply(gate: Gate, ...pieces: string[]): Script {
  return async function* (call) {
    for (const piece of pieces) {
      await held(gate, call);
      yield text(piece);
    }
    await held(gate, call);
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
      [1, anAgent(1)],
      [2, { ...anAgent(2), openingGreeting: 'Hello there' }],
      [3, { ...anAgent(3), active: false }],
      [4, { ...anAgent(4), deleted: true }],
      [5, { ...anAgent(5), openingGreeting: 'Never said', workflowId: 9 }],
      [anotherTenants, anAgent(anotherTenants)],
    ]),
    calls: [],
    script: async function* ({ asked }) {
      for (const word of `Re: ${asked}`.split(/(?<= )/)) yield text(word);
      yield finished();
    },
  };
  const server = rpcServer({
    unit: 'agent',
    port: 0,
    callers,
    log: createLogger('agent', { LOG_LEVEL: 'silent' }),
    metrics: createMetrics('agent'),
    drainTimeoutMs: 200,
    onListening: (address) => addresses.announce('agent', 'rpc', address),
    services: (services) =>
      services.add(AgentServiceDefinition, {
        async getAgent({ agentId }, { caller }) {
          const owner = agentId === anotherTenants ? 2 : 1;
          const agent = caller.tenantId === owner ? self.agents.get(agentId) : undefined;
          if (!agent) throw notFound('Agent', agentId);
          return { agent };
        },
        async *runTurn(request, { signal }) {
          const call: TurnCall = { request, asked: request.history.at(-1)?.text ?? '', signal, end: undefined };
          self.calls.push(call);
          try {
            yield* self.script(call);
            call.end = 'finished';
          } finally {
            call.end ??= signal.aborted ? 'cancelled' : 'failed';
          }
        },
        generate: async () => ({ offline: true }),
        describeModel: async () => ({ offline: true }),
      }),
  });
  await server.start();
  t.teardown(() => server.stop());
  return self;
}

function anAgent(id: number): Agent {
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

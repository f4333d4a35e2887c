import { tenantRequest } from '@parley/kernel/caller-request';
import { invalid } from '@parley/kernel/errors';
import { withoutNulls } from '@parley/kernel/input';
import {
  Agent as AgentMessage,
  type AgentServiceImplementation,
  type ConversationMessage,
  Role,
  type RunTurnRequest,
  type RunTurnResponse,
} from '@parley/protos/parley/agent/v1/agent';
import type { MeshContext } from '@parley/rpc/server';
import type { Agent } from './agents/agent.ts';
import { getExternalSync } from './agents/get-external-sync.ts';
import { getAgent } from './agents/read-agents.ts';
import { resolveEmbedAgent } from './agents/resolve-embed-agent.ts';
import { describeModel } from './model-choice/describe-model.ts';
import type { ConversationMessage as ModelMessage } from './models/model.ts';
import type { Ports } from './ports.ts';
import { shownReason } from './text-generations/finish-reason.ts';
import { generate } from './text-generations/generate.ts';
import { coalesceText } from './turns/coalesce-text.ts';
import { toCitation } from './turns/passages.ts';
import { runTurn } from './turns/run-turn.ts';
import type { TurnEvent } from './turns/turn.ts';

export function agentRpc(ports: Ports): AgentServiceImplementation<MeshContext> {
  return {
    getAgent: async ({ agentId }, call) => ({
      agent: toMessage(await getAgent(ports, tenantRequest(call), agentId)),
    }),

    getExternalSync: ({ agentId }, call) => getExternalSync(ports, tenantRequest(call), agentId),

    async resolveEmbedAgent({ agent: which }, call) {
      if (!which) throw invalid({ path: 'agent', message: 'is required' });
      const { agent, avatar } = await resolveEmbedAgent(
        ports,
        tenantRequest(call),
        which.$case === 'persona' ? { persona: which.value } : { agentId: which.value },
      );
      return { agent: toMessage(agent), avatar };
    },

    async *runTurn(requests, call) {
      const { first, stopSignal } = await stoppable(requests);
      const { history, stop: _, ...which } = first;
      const turn = { ...which, history: history.map((message) => fromMessage(message)) };
      const request = tenantRequest(call);
      const signal = AbortSignal.any([request.signal, stopSignal]);
      try {
        for await (const event of coalesceText(runTurn(ports, { ...request, signal }, turn))) yield toResponse(event);
      } catch (error) {
        // A stopped turn reports no error, because its usage has already been sent.
        if (!stopSignal.aborted) throw error;
      }
    },

    describeModel: ({ agentId }, call) => describeModel(ports, tenantRequest(call), agentId),

    generate: (generation, call) => generate(ports, tenantRequest(call), generation),
  };
}

/** Returns the first request of a call, and a signal that aborts when a later request asks to stop. */
async function stoppable(requests: AsyncIterable<RunTurnRequest>) {
  const reader = requests[Symbol.asyncIterator]();
  const { value: first, done } = await reader.next();
  if (done) throw invalid({ path: 'agent_id', message: 'is required' });
  const controller = new AbortController();
  const readOn = async () => {
    for (let next = await reader.next(); !next.done; next = await reader.next()) {
      if (next.value.stop) return controller.abort();
    }
  };
  readOn().catch(() => undefined); // a cancelled call aborts its own signal
  return { first, stopSignal: controller.signal };
}

function toResponse({ text, usage, passages, toolCall, structuredContent, finishReason }: TurnEvent): RunTurnResponse {
  return {
    text,
    usage,
    citations: passages && { citations: passages.map(toCitation) },
    toolCall,
    structuredContentJson: structuredContent ? JSON.stringify(structuredContent) : '',
    finishReason: shownReason(finishReason) ?? '',
  };
}

/** Copies the fields that the message has under the same name. Null becomes the proto default. */
function toMessage({ evaluationRecommendationLabels: labels, ...agent }: Agent): AgentMessage {
  return AgentMessage.fromPartial({
    ...withoutNulls(agent),
    active: agent.status === 'ACTIVE',
    deleted: agent.deletedAt !== null,
    ...(labels && { evaluationRecommendationLabels: { labels } }),
  });
}

function fromMessage({ role, text }: ConversationMessage): ModelMessage {
  if (role === Role.ROLE_USER) return { role: 'user', text };
  if (role === Role.ROLE_MODEL) return { role: 'assistant', text };
  throw invalid({ path: 'history', message: 'has a message of nobody' });
}

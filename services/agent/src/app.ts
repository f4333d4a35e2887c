import type { TenantCaller } from '@parley/chassis/caller';
import { configOptions } from './config-options.ts';
import { createAgent } from './create-agent.ts';
import { deleteAgent } from './delete-agent.ts';
import { describeModel } from './describe-model.ts';
import { type Generation, generate } from './generate.ts';
import type { CreateAgentInput, QueryAgentsArgs, UpdateAgentInput } from './generated/schema.ts';
import type { Ports } from './ports.ts';
import { agentsByIds, countAgents, findAgent, getAgent, listAgents, listAuditLogs } from './read-agents.ts';
import { runTurn, type Turn } from './run-turn.ts';
import { updateAgent } from './update-agent.ts';

export type App = ReturnType<typeof createApp>;

/** Every use case, bound to its ports. */
export function createApp(ports: Ports) {
  return {
    createAgent: (caller: TenantCaller, input: CreateAgentInput) => createAgent(ports, caller, input),
    updateAgent: (caller: TenantCaller, id: number, input: UpdateAgentInput, gone?: AbortSignal) =>
      updateAgent(ports, caller, id, input, gone),
    deleteAgent: (caller: TenantCaller, id: number, gone?: AbortSignal) => deleteAgent(ports, caller, id, gone),
    findAgent: (caller: TenantCaller, id: number) => findAgent(ports, caller, id),
    getAgent: (caller: TenantCaller, id: number) => getAgent(ports, caller, id),
    agentsByIds: (caller: TenantCaller, ids: readonly number[]) => agentsByIds(ports, caller, ids),
    listAgents: (caller: TenantCaller, page: QueryAgentsArgs) => listAgents(ports, caller, page),
    countAgents: (caller: TenantCaller) => countAgents(ports, caller),
    listAuditLogs: (caller: TenantCaller, agentId: number) => listAuditLogs(ports, caller, agentId),
    configOptions: (_caller: TenantCaller) => configOptions(ports),
    runTurn: (caller: TenantCaller, turn: Turn, signal: AbortSignal) => runTurn(ports, caller, turn, signal),
    describeModel: (caller: TenantCaller, agentId: number) => describeModel(ports, caller, agentId),
    generate: (caller: TenantCaller, generation: Generation, signal: AbortSignal) =>
      generate(ports, caller, generation, signal),
  };
}

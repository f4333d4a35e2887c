import { idArgument } from '@parley/graph/id-argument';
import { inTenant } from '@parley/kernel/caller';
import { notFound } from '@parley/kernel/errors';
import { configOptions } from '../config-options.ts';
import { createAgent } from '../create-agent.ts';
import { deleteAgent } from '../delete-agent.ts';
import { countAgents, findAgent, listAgents, listAuditLogs } from '../read-agents.ts';
import { updateAgent } from '../update-agent.ts';
import type { Resolvers } from './generated/resolvers.ts';

/** Maps each root field to one use case. */
export const resolvers: Resolvers = {
  Query: {
    agent: (_, { id }, { ports, caller }) => {
      const agentId = idArgument(id);
      return agentId === undefined ? null : findAgent(ports, inTenant(caller), agentId);
    },
    agents: (_, page, { ports, answer, caller }, info) =>
      listAgents(answer.reading(ports, info), inTenant(caller), page),
    agentCount: (_, __, { ports, caller }) => countAgents(ports, inTenant(caller)),
    agentConfigOptions: (_, __, { ports, caller }) => {
      inTenant(caller); // only for callers with a tenant
      return configOptions(ports);
    },
    agentAuditLogs: (_, { id }, { ports, answer, caller }, info) =>
      listAuditLogs(answer.reading(ports, info), inTenant(caller), requiredId(id)),
  },
  Mutation: {
    createAgent: (_, { input }, { ports, caller }) => createAgent(ports, inTenant(caller), input),
    updateAgent: (_, { id, input }, { ports, caller, gone }) =>
      updateAgent(ports, inTenant(caller), requiredId(id), input, gone),
    deleteAgent: async (_, { id }, { ports, caller, gone }) => {
      await deleteAgent(ports, inTenant(caller), requiredId(id), gone);
      return true;
    },
  },
  AgentDto: {
    // Other subgraphs send many keys at once; one query serves them all.
    __resolveReference: ({ id }, { agentOf }, info) => agentOf(info, id),
  },
  AuditLogDto: {
    auditableType: () => 'Agent',
    auditableId: ({ agentId }) => agentId,
  },
};

function requiredId(id: string): number {
  const agentId = idArgument(id);
  if (agentId === undefined) throw notFound('Agent', id);
  return agentId;
}

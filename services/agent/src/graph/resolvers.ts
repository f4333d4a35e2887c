import { inTenant } from '@parley/chassis/caller';
import { notFound } from '@parley/chassis/errors';
import { idArgument } from '@parley/chassis/graph/id-argument';
import type { Resolvers } from './generated/resolvers.ts';

/** The fields of the subgraph, each root field one use case. */
export const resolvers: Resolvers = {
  Query: {
    agent: (_, { id }, { app, caller }) => {
      const agentId = idArgument(id);
      return agentId === undefined ? null : app.findAgent(inTenant(caller), agentId);
    },
    agents: (_, page, { reading, caller }, info) => reading(info).listAgents(inTenant(caller), page),
    agentCount: (_, __, { app, caller }) => app.countAgents(inTenant(caller)),
    agentConfigOptions: (_, __, { app, caller }) => app.configOptions(inTenant(caller)),
    agentAuditLogs: (_, { id }, { reading, caller }, info) =>
      reading(info).listAuditLogs(inTenant(caller), requiredId(id)),
  },
  Mutation: {
    createAgent: (_, { input }, { app, caller }) => app.createAgent(inTenant(caller), input),
    updateAgent: (_, { id, input }, { app, caller, gone }) =>
      app.updateAgent(inTenant(caller), requiredId(id), input, gone),
    deleteAgent: async (_, { id }, { app, caller, gone }) => {
      await app.deleteAgent(inTenant(caller), requiredId(id), gone);
      return true;
    },
  },
  AgentDto: {
    // Other subgraphs hand over many keys at once: one query serves them all.
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

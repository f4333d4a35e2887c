import { effectKeyOf } from '@parley/graph/effect-key';
import { inTenant } from '@parley/kernel/caller';
import { parseId, requireId } from '@parley/kernel/row-id';
import { configOptions } from '../catalogue.ts';
import { createAgent } from '../create-agent.ts';
import { deleteAgent } from '../delete-agent.ts';
import { generateText } from '../generate-text.ts';
import { countAgents, findAgent, listAgents, listAuditLogs } from '../read-agents.ts';
import { startTextGeneration } from '../start-text-generation.ts';
import { testLlmProvider } from '../test-llm-provider.ts';
import { updateAgent } from '../update-agent.ts';
import type { Resolvers } from './generated/resolvers.ts';

export const resolvers: Resolvers = {
  Query: {
    agent: (_, { id }, { ports, caller }) => {
      const tenantCaller = inTenant(caller);
      const agentId = parseId(id);
      return agentId === undefined ? null : findAgent(ports, tenantCaller, agentId);
    },
    agents: (_, page, { ports, answer, caller }, info) =>
      listAgents(answer.reading(ports, info), inTenant(caller), page),
    agentCount: (_, __, { ports, caller }) => countAgents(ports, inTenant(caller)),
    agentConfigOptions: (_, __, { ports, caller }) => {
      inTenant(caller); // only for callers with a tenant
      return configOptions(ports);
    },
    agentAuditLogs: (_, { id }, { ports, answer, caller }, info) =>
      listAuditLogs(answer.reading(ports, info), inTenant(caller), requireId('Agent', id)),
    generateText: (_, { input }, { ports, caller, gone }, info) =>
      generateText(ports, inTenant(caller), input, gone, effectKeyOf(caller, info)),
  },
  Mutation: {
    createAgent: (_, { input }, { ports, caller }) => createAgent(ports, inTenant(caller), input),
    updateAgent: (_, { id, input }, { ports, caller, gone }) =>
      updateAgent(ports, inTenant(caller), requireId('Agent', id), input, gone),
    deleteAgent: async (_, { id }, { ports, caller, gone }) => {
      await deleteAgent(ports, inTenant(caller), requireId('Agent', id), gone);
      return true;
    },
    startTextGeneration: (_, { input }, { ports, caller }, info) =>
      startTextGeneration(ports, inTenant(caller), input, effectKeyOf(caller, info)),
    testLlmProvider: (_, { input }, { ports, caller, gone }) => testLlmProvider(ports, inTenant(caller), input, gone),
  },
  AgentDto: {
    __resolveReference: ({ id }, { agentOf }, info) => agentOf(info, id),
  },
  AuditLogDto: {
    auditableType: () => 'Agent',
    auditableId: ({ agentId }) => agentId,
  },
};

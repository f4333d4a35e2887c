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
    agent: (_, { id }, { ports, tenantRequest }, info) => findAgent(ports, tenantRequest(info), id),
    agents: (_, page, { ports, answer, tenantRequest }, info) =>
      listAgents(answer.reading(ports, info), tenantRequest(info), page),
    agentCount: (_, __, { ports, tenantRequest }, info) => countAgents(ports, tenantRequest(info)),
    agentConfigOptions: (_, __, { ports, tenantRequest }, info) => configOptions(ports, tenantRequest(info)),
    agentAuditLogs: (_, { id }, { ports, answer, tenantRequest }, info) =>
      listAuditLogs(answer.reading(ports, info), tenantRequest(info), id),
    generateText: (_, { input }, { ports, tenantRequest }, info) => generateText(ports, tenantRequest(info), input),
  },
  Mutation: {
    createAgent: (_, { input }, { ports, tenantRequest }, info) => createAgent(ports, tenantRequest(info), input),
    updateAgent: (_, args, { ports, tenantRequest }, info) => updateAgent(ports, tenantRequest(info), args),
    deleteAgent: (_, { id }, { ports, tenantRequest }, info) => deleteAgent(ports, tenantRequest(info), id),
    startTextGeneration: (_, { input }, { ports, tenantRequest }, info) =>
      startTextGeneration(ports, tenantRequest(info), input),
    testLlmProvider: (_, { input }, { ports, tenantRequest }, info) =>
      testLlmProvider(ports, tenantRequest(info), input),
  },
  AgentDto: {
    __resolveReference: ({ id }, { agentOf }, info) => agentOf(info, id),
  },
  AuditLogDto: {
    auditableType: () => 'Agent',
    auditableId: ({ agentId }) => agentId,
  },
};

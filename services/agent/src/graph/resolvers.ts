import { inTenant } from '@parley/chassis/caller';
import { notFound } from '@parley/chassis/errors';
import { idArgument } from '@parley/chassis/graph/id-argument';
import { scalars } from '@parley/chassis/graph/scalars';
import type { SubgraphOptions } from '@parley/chassis/graph/subgraph';
import type { AgentInput, AuditLog } from '../agent.ts';
import type { NewAgent } from '../create-agent.ts';
import type { Context } from './context.ts';

interface HasId {
  id: string;
}

interface PageArguments {
  first?: number | null;
  after?: number | null;
}

export const resolvers: SubgraphOptions<Context>['resolvers'] = {
  ...scalars,
  Query: {
    agent: (_: unknown, { id }: HasId, { app, caller }: Context) => {
      const agentId = idArgument(id);
      return agentId === undefined ? null : app.findAgent(inTenant(caller), agentId);
    },
    agents: (_: unknown, { first, after }: PageArguments, { app, caller }: Context) =>
      app.listAgents(inTenant(caller), { first: first ?? undefined, after: after ?? undefined }),
    agentCount: (_: unknown, __: unknown, { app, caller }: Context) => app.countAgents(inTenant(caller)),
    agentConfigOptions: (_: unknown, __: unknown, { app, caller }: Context) => app.configOptions(inTenant(caller)),
    agentAuditLogs: (_: unknown, { id }: HasId, { app, caller }: Context) =>
      app.listAuditLogs(inTenant(caller), requiredId(id)),
  },
  Mutation: {
    createAgent: (_: unknown, { input }: { input: NewAgent }, { app, caller }: Context) =>
      app.createAgent(inTenant(caller), input),
    updateAgent: (_: unknown, { id, input }: HasId & { input: AgentInput }, { app, caller }: Context) =>
      app.updateAgent(inTenant(caller), requiredId(id), input),
    deleteAgent: async (_: unknown, { id }: HasId, { app, caller }: Context) => {
      await app.deleteAgent(inTenant(caller), requiredId(id));
      return true;
    },
  },
  AgentDto: {
    // Other subgraphs hand over many keys at once: one query serves them all.
    __resolveReference: ({ id }: { id: number }, { loaders }: Context) => loaders.agent.load(id),
  },
  AuditLogDto: {
    auditableType: () => 'Agent',
    auditableId: ({ agentId }: AuditLog) => agentId,
  },
};

function requiredId(id: string): number {
  const agentId = idArgument(id);
  if (agentId === undefined) throw notFound('Agent', id);
  return agentId;
}

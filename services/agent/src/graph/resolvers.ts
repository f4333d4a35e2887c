import { inTenant } from '@parley/chassis/caller';
import { notFound } from '@parley/chassis/errors';
import { askedFields } from '@parley/chassis/graph/asked-fields';
import { idArgument } from '@parley/chassis/graph/id-argument';
import { scalars } from '@parley/chassis/graph/scalars';
import type { SubgraphOptions } from '@parley/chassis/graph/subgraph';
import type { Page } from '@parley/chassis/input-checks';
import type { GraphQLResolveInfo } from 'graphql';
import type { AgentInput, AuditLog } from '../agent.ts';
import type { NewAgent } from '../create-agent.ts';
import type { Context } from './context.ts';

interface HasId {
  id: string;
}

export const resolvers: SubgraphOptions<Context>['resolvers'] = {
  ...scalars,
  Query: {
    agent: (_: unknown, { id }: HasId, { app, caller }: Context) => {
      const agentId = idArgument(id);
      return agentId === undefined ? null : app.findAgent(inTenant(caller), agentId);
    },
    agents: (_: unknown, page: Page, { app, caller, budget }: Context, info: GraphQLResolveInfo) =>
      app.listAgents(inTenant(caller), page, { budget, fields: askedFields(info) }),
    agentCount: (_: unknown, __: unknown, { app, caller }: Context) => app.countAgents(inTenant(caller)),
    agentConfigOptions: (_: unknown, __: unknown, { app, caller }: Context) => app.configOptions(inTenant(caller)),
    agentAuditLogs: (_: unknown, { id }: HasId, { app, caller, budget }: Context, info: GraphQLResolveInfo) =>
      app.listAuditLogs(inTenant(caller), requiredId(id), { budget, fields: askedFields(info) }),
  },
  Mutation: {
    createAgent: (_: unknown, { input }: { input: NewAgent }, { app, caller }: Context) =>
      app.createAgent(inTenant(caller), input),
    updateAgent: (_: unknown, { id, input }: HasId & { input: AgentInput }, { app, caller, gone }: Context) =>
      app.updateAgent(inTenant(caller), requiredId(id), input, gone),
    deleteAgent: async (_: unknown, { id }: HasId, { app, caller, gone }: Context) => {
      await app.deleteAgent(inTenant(caller), requiredId(id), gone);
      return true;
    },
  },
  AgentDto: {
    // Other subgraphs hand over many keys at once: one query serves them all.
    // `info` is its third argument, which the library's type takes for the context.
    __resolveReference: ({ id }: { id: number }, { agentOf }: Context, info: unknown) =>
      agentOf(id, askedFields(info as GraphQLResolveInfo)),
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

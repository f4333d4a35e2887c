import test from 'ava';
import type { Resolvers } from './generated/resolvers.ts';
import { resolvers } from './resolvers.ts';

test('resolvers that do not match the schema do not compile', (t) => {
  const { Query, Mutation, AuditLogDto } = resolvers;
  const { agentCount: _, ...withoutCount } = Query;
  const wrong: Resolvers[] = [
    // @ts-expect-error the schema has no argument `limit`
    { ...resolvers, Query: { ...Query, agents: (...[, { limit }]) => [{ id: limit }] } },
    // @ts-expect-error the input of the schema has no field `colour`
    { ...resolvers, Mutation: { ...Mutation, createAgent: (_, { input }) => ({ id: 1, name: input.colour }) } },
    // @ts-expect-error the schema has no field `agentTotal`
    { ...resolvers, Query: { ...Query, agentTotal: () => 1 } },
    // @ts-expect-error the field is a number
    { ...resolvers, Query: { ...Query, agentCount: () => 'many' } },
    // @ts-expect-error a root field has no resolver
    { ...resolvers, Query: withoutCount },
    // @ts-expect-error an audit log of the domain has no `auditableType`, which the schema wants
    { ...resolvers, AuditLogDto: { auditableId: AuditLogDto.auditableId } },
  ];
  t.is(wrong.length, 6);
});

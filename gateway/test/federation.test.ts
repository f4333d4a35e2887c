import test from 'ava';
import { gatewayMesh } from './support/gateway-mesh.ts';

test("the agents of many sessions are resolved over two subgraphs in one batch, by callers of each one's own", async (t) => {
  const asked: number[] = [];
  const sessions = Array.from({ length: 20 }, (_, i) => ({
    id: i + 1,
    agentId: (i % 5) + 1,
    agent: { id: (i % 5) + 1 },
  }));
  const { ask, identity, reached } = await gatewayMesh(t, {
    resolvers: {
      session: { Query: { sessions: () => sessions } },
      agent: {
        AgentDto: {
          __resolveReference: ({ id }: { id: number }) => {
            asked.push(id);
            return id === 5 ? null : { id, name: `Agent ${id}` };
          },
        },
      },
    },
  });
  const token = await identity.signIn('s-1', { tenantId: 42 });
  const { data, errors } = await ask('{ sessions { id agent { id name } } }', { token });
  t.is(errors, undefined);
  const rows = data?.sessions as { id: number; agent: { id: number; name: string } | null }[];
  t.is(rows.length, 20);
  t.deepEqual(rows[1], { id: 2, agent: { id: 2, name: 'Agent 2' } });
  t.is(rows[4]?.agent, null, 'one that is not there is null');
  t.deepEqual(
    reached.map(({ subgraph }) => subgraph),
    ['session', 'agent'],
  );
  t.true(reached.every(({ caller }) => caller.tenantId === 42 && caller.userId === 1));
  t.deepEqual(new Set(asked), new Set([1, 2, 3, 4, 5]));
});

test('dates and JSON pass through the gateway unchanged', async (t) => {
  const metadata = { order: 66, nested: [null, { a: 'ü🦜' }] };
  const { ask, identity } = await gatewayMesh(t, {
    resolvers: {
      session: {
        Query: { session: () => ({ id: 1, metadata, createdAt: '2026-01-02T03:04:05.678Z', startedAt: null }) },
        Mutation: {
          startSession: (_: unknown, { input }: { input: { metadata: unknown } }) => ({
            id: 2,
            metadata: input.metadata,
          }),
        },
      },
    },
  });
  const token = await identity.signIn('s-1');
  const { data } = await ask('{ session(id: 1) { metadata createdAt startedAt } }', { token });
  t.deepEqual(data, { session: { metadata, createdAt: '2026-01-02T03:04:05.678Z', startedAt: null } });
  const started = await ask('mutation ($input: StartSessionInput!) { startSession(input: $input) { metadata } }', {
    token,
    variables: { input: { agentId: 1, clientExternalId: 'c', metadata } },
  });
  t.deepEqual(started.data, { startSession: { metadata } });
});

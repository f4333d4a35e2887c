import { type Caller, callerHeader, createCallers } from '@parley/kernel/caller';
import { ActionServiceDefinition } from '@parley/protos/parley/action/v1/action';
import { AgentServiceDefinition } from '@parley/protos/parley/agent/v1/agent';
import { EvaluationServiceDefinition } from '@parley/protos/parley/evaluation/v1/evaluation';
import { ExportServiceDefinition } from '@parley/protos/parley/export/v1/export';
import { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import { KnowledgeServiceDefinition } from '@parley/protos/parley/knowledge/v1/knowledge';
import { SessionServiceDefinition } from '@parley/protos/parley/session/v1/session';
import { units } from '@parley/units';
import test from 'ava';
import { SignJWT } from 'jose';
import { type Channel, createChannel, createClient, Metadata } from 'nice-grpc';
import { type CredentialMesh, withCredentials } from '../src/credentials.ts';
import { stories } from '../src/stories.ts';

const story = stories(test, { on: 'processes' });
const caller: Caller = { kind: 'service', service: 'test', tenantId: 1, requestId: 'test' };

/** Makes credentials that every port of a unit must refuse (`wrong`), and one credential that every port must accept (`right`). */
async function credentials({ meshKey, operatorKey }: CredentialMesh, unit: string) {
  const minted = (agoS: number, claims: object = {}) => {
    const at = Math.floor(Date.now() / 1000) - agoS;
    const token = new SignJWT({ caller, aud: unit, iat: at, exp: at + 60, ...claims });
    return token.setProtectedHeader({ alg: 'HS256' }).sign(meshKey);
  };
  const other = unit === 'identity' ? 'session' : 'identity';
  const right = await minted(0);
  return {
    right,
    wrong: {
      none: undefined,
      garbage: 'garbage',
      'of another mesh': await createCallers(Buffer.alloc(32, 7)).mint(caller, unit),
      'of an operator': await createCallers(operatorKey).mint({ ...caller, kind: 'operator', displayName: 'x' }, unit),
      'for another unit': await createCallers(meshKey).mint(caller, other),
      'for nobody': await minted(0, { aud: undefined }),
      expired: await minted(120),
      unsigned: `${Buffer.from('{"alg":"none"}').toString('base64url')}.${right.split('.')[1]}.`,
    },
  };
}

story('a subgraph refuses calls without a mesh credential for its unit', async (t, given) => {
  const mesh = withCredentials(given);
  const { addresses } = mesh;
  const endpoints = units
    .filter(({ serves }) => serves.includes('graph'))
    .flatMap(({ name: unit }) => addresses(unit, 'graph').map((address) => ({ unit, address })));
  for (const { unit, address } of endpoints) {
    const ask = async (credential: string | undefined, query: string) => {
      const { status } = await fetch(address, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(credential && { [callerHeader]: credential }) },
        body: JSON.stringify({ query }),
      });
      return status;
    };
    const { right, wrong } = await credentials(mesh, unit);
    for (const [name, credential] of Object.entries(wrong)) {
      for (const query of ['{ __typename }', '{ _service { sdl } }'])
        t.is(await ask(credential, query), 401, `${unit}: ${name}`);
    }
    t.is(await ask(right, '{ __typename }'), 200, unit);
  }
});

story('a gRPC port refuses calls without a mesh credential for its unit', async (t, given) => {
  const mesh = withCredentials(given);
  const { addresses } = mesh;
  const channelTo = (address: string) => {
    const channel = createChannel(address);
    t.teardown(() => channel.close());
    return channel;
  };
  const calls: Record<string, (channel: Channel, metadata: Metadata) => Promise<unknown>> = {
    identity: (channel, metadata) =>
      createClient(IdentityServiceDefinition, channel).getTenant({ tenantId: 1 }, { metadata }),
    action: (channel, metadata) =>
      createClient(ActionServiceDefinition, channel).checkTools({ tools: [] }, { metadata }),
    agent: (channel, metadata) => createClient(AgentServiceDefinition, channel).getAgent({ agentId: 1 }, { metadata }),
    knowledge: (channel, metadata) =>
      createClient(KnowledgeServiceDefinition, channel).checkKnowledgeBases({ knowledgeBaseIds: [1] }, { metadata }),
    session: (channel, metadata) =>
      createClient(SessionServiceDefinition, channel).resolveSessions({ sessionIds: [1] }, { metadata }),
    evaluation: (channel, metadata) =>
      createClient(EvaluationServiceDefinition, channel).getEvaluation({ sessionId: 1 }, { metadata }),
    export: (channel, metadata) => createClient(ExportServiceDefinition, channel).getExport({ id: 1 }, { metadata }),
  };
  const serving = units.filter(({ serves }) => serves.includes('rpc')).map(({ name }) => name);
  t.deepEqual(Object.keys(calls).toSorted(), serving.toSorted());
  for (const [unit, call] of Object.entries(calls)) {
    for (const channel of addresses(unit, 'rpc').map(channelTo)) {
      const { right, wrong } = await credentials(mesh, unit);
      for (const [name, credential] of Object.entries(wrong)) {
        const metadata = Metadata(credential ? { [callerHeader]: credential } : {});
        await t.throwsAsync(call(channel, metadata), { message: /UNAUTHENTICATED/ }, `${unit}: ${name}`);
      }
      const error = await call(channel, Metadata({ [callerHeader]: right })).then(
        () => '',
        (refused: unknown) => String(refused),
      );
      t.notRegex(error, /UNAUTHENTICATED/, unit);
    }
  }
});

story('a caller token that a client sends is ignored', async (t, mesh) => {
  const { meshKey, person, visitor } = withCredentials(mesh);
  const ada = await person();
  const forged = await createCallers(meshKey).mint({ ...caller, kind: 'user', userId: 1, signInId: 'x' }, 'agent');
  const nobody = await visitor().send('{ agentCount }', {}, { [callerHeader]: forged });
  t.is(nobody.errors?.[0]?.extensions.code, 'UNAUTHENTICATED');
  const own = await ada.send('{ myTenant { id } agentCount }', {}, { [callerHeader]: forged });
  t.like(own.data, { agentCount: 0 });
});

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { gatewayMesh } from '../../../../gateway/test/support/gateway-mesh.ts';
import { publicUrl } from '../../../../gateway/test/support/identity-script.ts';
import { serve } from '../processes.ts';
import { chunkEvents } from './chunk-events.ts';

/** A subgraph that answers at once, by `answer` of the query's text; what it costs is next to nothing. */
async function cannedSubgraph(answer: (query: string) => object): Promise<string> {
  const server = createServer(async (request, response) => {
    const { query } = JSON.parse(await text(request)) as { query: string };
    const body = JSON.stringify({ data: answer(query) });
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
    response.end(body);
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

// Stand-ins of all services, which cost next to nothing, so that what is measured is the gateway before them.
const session7 = { agent: { __typename: 'AgentDto', id: 7 } };
const graphUrls = {
  session: await cannedSubgraph((query) => ({ [/(\w+):\s*session\(/u.exec(query)?.[1] ?? 'session']: session7 })),
  agent: await cannedSubgraph(() => ({ _entities: [{ name: 'Maya' }] })),
};
const mesh = await gatewayMesh({ teardown: () => undefined }, { graphUrls });
const { addresses, identity, meshKey, session } = mesh;
process.on('message', (count: number) => {
  const events = chunkEvents(count).map(({ eventId, sessionId, occurredAt, __typename, ...value }) => ({
    eventId,
    sessionId,
    occurredAt: new Date(occurredAt),
    kind: { $case: 'aiResponseChunk' as const, value },
  }));
  session.send(...events);
});
const env = {
  MESH_KEY: meshKey.toString('base64'),
  PARLEY_PUBLIC_URL: publicUrl,
  AVATAR_TOKEN_KEYS: `k1:${meshKey.toString('base64')}`,
  IDENTITY_RPC_URL: addresses.of('identity', 'rpc'),
  SESSION_RPC_URL: addresses.of('session', 'rpc'),
  IDENTITY_GRAPH_URL: addresses.of('identity', 'graph'),
  AGENT_GRAPH_URL: addresses.of('agent', 'graph'),
  SESSION_GRAPH_URL: addresses.of('session', 'graph'),
};
serve({ env, token: await identity.signIn('bench') });

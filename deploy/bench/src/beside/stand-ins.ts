import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { listen } from '@parley/kernel/http/listen';
import { units } from '@parley/units';
import { gatewayMesh } from '../../../../gateway/test/support/gateway-mesh.ts';
import { publicUrl } from '../../../../gateway/test/support/identity-script.ts';
import { finishedEvent } from '../../../../gateway/test/support/session-script.ts';
import type { chunkEvents } from '../gateway.ts';
import { serve } from '../processes.ts';
import { vectorsAnswer } from '../vectors.ts';

/** The response to `embed` with 100 texts. */
const vectors = vectorsAnswer(100, 768);

// Stubs of all services. They respond at once and use little CPU, so that only the gateway is measured.
const subgraphs = createServer(async (request, response) => {
  const { query } = JSON.parse(await text(request)) as { query: string };
  response.setHeader('content-type', 'application/json');
  if (query.includes('vectors')) return void response.end(vectors);
  const field = /(\w+):\s*session\(/u.exec(query)?.[1] ?? 'session';
  const ofAgent = { _entities: [{ name: 'Maya' }] };
  const data = query.includes('_entities') ? ofAgent : { [field]: { agent: { __typename: 'AgentDto', id: 7 } } };
  response.end(JSON.stringify({ data }));
});
subgraphs.keepAliveTimeout = 60_000;
const graphUrl = `http://${await listen(subgraphs)}`;

const mesh = await gatewayMesh({ teardown: () => undefined });
process.on('message', (events: ReturnType<typeof chunkEvents>) => {
  for (const { __typename, occurredAt, ...fields } of events) {
    mesh.session.send(finishedEvent(__typename, { ...fields, occurredAt: new Date(occurredAt) }));
  }
});
const subgraphUrls = units
  .filter(({ serves }) => serves.includes('graph'))
  .map(({ name }) => [`${name.toUpperCase()}_GRAPH_URL`, graphUrl]);
const key = mesh.meshKey.toString('base64');
const apiKey = 'sk_bench';
const env = {
  MESH_KEY: key,
  PARLEY_PUBLIC_URL: publicUrl,
  AVATAR_TOKEN_KEYS: `k1:${key}`,
  IDENTITY_RPC_URL: mesh.addresses.of('identity', 'rpc'),
  SESSION_RPC_URL: mesh.addresses.of('session', 'rpc'),
  AGENT_RPC_URL: mesh.addresses.of('agent', 'rpc'),
  ...(Object.fromEntries(subgraphUrls) as Record<string, string>),
  IDENTITY_GRAPH_URL: mesh.addresses.of('identity', 'graph'),
};
mesh.identity.addApiKey(apiKey, { apiKeyId: 1, tenantId: 1, tenantSuspended: false });
serve({ env, token: await mesh.identity.signIn('bench'), apiKey });

import { gatewayMesh } from '../../../../gateway/test/support/gateway-mesh.ts';
import { publicUrl } from '../../../../gateway/test/support/identity-script.ts';
import { cannedSubgraph } from './canned-subgraph.ts';
import { serve } from './child.ts';
import { chunkEvent } from './chunk-event.ts';

/** How the stand-ins of all services are reached. */
export interface StandIns {
  /** Settings of a gateway in front of them. */
  env: Record<string, string>;
  /** Somebody's access token. */
  token: string;
}

// Subgraphs that cost next to nothing, so that what is measured is the gateway before them.
const session7 = { agent: { __typename: 'AgentDto', id: 7 } };
const graphUrls = {
  session: await cannedSubgraph((query) => ({ [/(\w+):\s*session\(/u.exec(query)?.[1] ?? 'session']: session7 })),
  agent: await cannedSubgraph(() => ({ _entities: [{ name: 'Maya' }] })),
};
const mesh = await gatewayMesh({ teardown: () => undefined }, { graphUrls });
const { addresses, identity, meshKey, session } = mesh;
let sent = 0;

serve({
  hello: {
    token: await identity.signIn('bench'),
    env: {
      MESH_KEY: meshKey.toString('base64'),
      PARLEY_PUBLIC_URL: publicUrl,
      AVATAR_TOKEN_KEYS: `k1:${meshKey.toString('base64')}`,
      IDENTITY_RPC_URL: addresses.of('identity', 'rpc'),
      SESSION_RPC_URL: addresses.of('session', 'rpc'),
      IDENTITY_GRAPH_URL: addresses.of('identity', 'graph'),
      AGENT_GRAPH_URL: addresses.of('agent', 'graph'),
      SESSION_GRAPH_URL: addresses.of('session', 'graph'),
    },
  } satisfies StandIns,
  emit(events) {
    session.send(
      ...Array.from({ length: events }, () => {
        const { eventId, sessionId, occurredAt, clientTurnId, turnIndex, attempt, text } = chunkEvent(++sent);
        const value = { clientTurnId, turnIndex, attempt, text };
        return {
          eventId,
          sessionId,
          occurredAt: new Date(occurredAt),
          kind: { $case: 'aiResponseChunk' as const, value },
        };
      }),
    );
  },
  stop: async () => undefined,
});

import { ApolloGateway, RemoteGraphQLDataSource } from '@apollo/gateway';
import { ApolloServer } from '@apollo/server';
import { startStandaloneServer } from '@apollo/server/standalone';
import { callerHeader } from '@parley/kernel/caller';
import { connectUnit } from '@parley/unit/connect-unit';
import { readSupergraph } from '../../../../gateway/src/graph/supergraph.ts';
import { serve } from '../processes.ts';

// `@apollo/gateway` with its defaults: it checks no credentials, has no limits, and uses its own fetcher. Each request names the same fixed
// caller, because subgraphs require one.
process.env.APOLLO_TELEMETRY_DISABLED = 'true';
const { addresses, callers } = connectUnit(process.env);
const person = { kind: 'user', userId: 1, tenantId: 1, signInId: 'bench', displayName: 'Ada', requestId: 'b' } as const;

const server = new ApolloServer({
  gateway: new ApolloGateway({
    supergraphSdl: await readSupergraph(),
    buildService: ({ name }) =>
      new RemoteGraphQLDataSource({
        url: addresses.of(name, 'graph'),
        async willSendRequest({ request }) {
          request.http?.headers.set(callerHeader, await callers.mint(person, name));
        },
      }),
    logger: { debug: () => undefined, info: () => undefined, warn: console.warn, error: console.error },
  }),
});
const { url } = await startStandaloneServer(server, { listen: { port: 0, host: '127.0.0.1' } });
serve(url, () => server.stop());

import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApolloServer } from '@apollo/server';
import { listen } from '@parley/chassis/graph/subgraph';
import type { Logger } from '@parley/chassis/log';
import type { Metrics } from '@parley/chassis/metrics';
import type { RpcClient } from '@parley/chassis/rpc/client';
import { createSessionTokens } from '@parley/chassis/session-token';
import type { Surroundings } from '@parley/chassis/surroundings';
import type { Part } from '@parley/chassis/unit';
import { CredentialsChanged } from '@parley/protos/parley/identity/v1/announcements';
import type { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import type { SessionServiceDefinition } from '@parley/protos/parley/session/v1/session';
import proxyAddr from 'proxy-addr';
import type { GatewayConfig } from './config.ts';
import { accessTokens } from './credentials/access-tokens.ts';
import { createAuthenticate, createOwnerOf } from './credentials/authenticate.ts';
import { createStanding } from './credentials/standing.ts';
import { readFieldRules } from './graph/field-rules.ts';
import type { GatewayContext } from './graph/gateway-context.ts';
import { maskError } from './graph/mask-error.ts';
import { operationRules } from './graph/operation-rules.ts';
import { createSupergraph } from './graph/supergraph.ts';
import { httpApp } from './http/app.ts';
import { requestIdFrom } from './http/request-id.ts';
import { openSockets } from './socket/open-sockets.ts';
import { sessionEvents } from './socket/session-events.ts';
import { socketServer } from './socket/socket-server.ts';
import { attachSubscriptions } from './socket/subscriptions.ts';

/** The pub/sub channel on which identity tells that credentials have changed: protobuf in base64. */
const credentialsChannel = 'parley:sign-ins';

/** How long requests under way may take when the server stops, in ms. */
const drainTimeoutMs = 10_000;

export interface PublicServerOptions {
  config: GatewayConfig;
  around: Surroundings;
  identity: () => RpcClient<typeof IdentityServiceDefinition>;
  session: () => RpcClient<typeof SessionServiceDefinition>;
  metrics: Metrics;
  log: Logger;
}

/** What clients reach: one HTTP server with GraphQL over POST and, on the same path, over WebSocket. */
export function publicServer({ config, around, identity, session, metrics, log }: PublicServerOptions): Part {
  const { addresses, callers, keyValue, host } = around;
  const { introspection, maxAnswerBytes, maxBodyBytes, maxTokens } = config;
  const closers: (() => Promise<unknown>)[] = [];

  async function open(): Promise<void> {
    const supergraph = await createSupergraph({ callers, addresses, maxAnswerBytes, log });
    closers.push(() => supergraph.close());
    const rules = readFieldRules(supergraph.sdl);
    const tokens = accessTokens(identity, config.publicUrl);
    const sessionTokens = createSessionTokens(config.avatarTokenKeys);
    const standing = createStanding({ identity, session });
    const credentials = { rules, accessTokens: tokens, sessionTokens, standing, identity };
    const authenticate = createAuthenticate(credentials);

    const apollo = new ApolloServer<GatewayContext>({
      gateway: supergraph.gateway,
      introspection,
      hideSchemaDetailsFromClientErrors: !introspection,
      persistedQueries: false, // clients could fill the cache
      includeStacktraceInErrorResponses: false,
      stopOnTerminationSignals: false,
      parseOptions: { maxTokens },
      logger: log.child({}, { level: 'warn' }),
      formatError: maskError(log),
      plugins: [operationRules({ rules, authenticate, standing, maxBodyBytes, metrics, log })],
    });
    await apollo.start();
    closers.push(() => apollo.stop());
    attachSubscriptions(supergraph.apiSchema(), { sessionEvents: sessionEvents(session) });

    const http = createServer(
      { keepAliveTimeout: 65_000, requestTimeout: 30_000, headersTimeout: 10_000 },
      httpApp({ config, apollo, accessTokens: tokens, log }),
    );
    const { maxAgeMs } = config.socket;
    const held = openSockets({ ownerOf: createOwnerOf(credentials), standing, maxAgeMs, log });
    closers.push(async () => held.stop());
    const sockets = socketServer({
      http,
      schema: () => supergraph.apiSchema(),
      config,
      authenticate,
      open: held,
      originOf: originOf(config.trustedProxies),
      log,
    });
    const unsubscribe = await keyValue.subscribe(credentialsChannel, (message) => {
      standing.forget();
      held.recheck(credentialsChanged(message)).catch((error: unknown) => {
        log.error({ err: error }, 'sockets could not be checked');
      });
    });
    closers.push(unsubscribe);
    await listen(http, config.port, host);
    closers.push(async () => {
      const closed = drained(http);
      await sockets.close();
      await closed;
    });
    addresses.announce('gateway', 'public', `http://${host}:${(http.address() as AddressInfo).port}`);
  }

  async function close(): Promise<void> {
    for (let step = closers.pop(); step; step = closers.pop()) await step();
  }

  return {
    name: 'gateway public',
    async start() {
      try {
        await open();
      } catch (error) {
        await close();
        throw error;
      }
    },
    ready: () => keyValue.ping(),
    stop: close,
  };
}

/** Takes no more connections and resolves when the open ones have ended, by themselves or cut. */
async function drained(http: Server): Promise<void> {
  const closed = new Promise((resolve) => http.close(resolve)); // closes idle connections too
  const cut = setTimeout(() => http.closeAllConnections(), drainTimeoutMs);
  await closed;
  clearTimeout(cut);
}

/** What an announcement says; undefined, which concerns everybody, when it cannot be read. */
function credentialsChanged(message: string): CredentialsChanged | undefined {
  try {
    return CredentialsChanged.decode(Buffer.from(message, 'base64'));
  } catch {
    return undefined;
  }
}

function originOf(trustedProxies: string[]) {
  const trusted = proxyAddr.compile(trustedProxies);
  return (request: IncomingMessage) => ({
    ip: proxyAddr(request, trusted),
    requestId: requestIdFrom(request.headers['x-request-id']),
  });
}

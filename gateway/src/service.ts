import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApolloServer } from '@apollo/server';
import { listen } from '@parley/chassis/graph/subgraph';
import { createLogger } from '@parley/chassis/log';
import { createMetrics } from '@parley/chassis/metrics';
import { opsServer } from '@parley/chassis/ops';
import { rpcClient } from '@parley/chassis/rpc/client';
import type { Surroundings } from '@parley/chassis/surroundings';
import { type Part, type Unit, unit } from '@parley/chassis/unit';
import { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import { SessionServiceDefinition } from '@parley/protos/parley/session/v1/session';
import proxyAddr from 'proxy-addr';
import type { GatewayConfig } from './config.ts';
import { accessTokens } from './credentials/access-tokens.ts';
import { createAuthenticate, createOwnerOf } from './credentials/authenticate.ts';
import { signIns } from './credentials/sign-ins.ts';
import { readFieldRules } from './graph/field-rules.ts';
import type { GatewayContext } from './graph/gateway-context.ts';
import { maskError } from './graph/mask-error.ts';
import { operationRules } from './graph/operation-rules.ts';
import { createSupergraph } from './graph/supergraph.ts';
import { httpApp } from './http/app.ts';
import { requestIdFrom } from './http/request-id.ts';
import { sessionEvents } from './socket/session-events.ts';
import { socketServer } from './socket/socket-server.ts';
import { attachSubscriptions } from './socket/subscriptions.ts';

/** The pub/sub channel on which identity tells that credentials have changed. */
const credentialsChannel = 'parley:sign-ins';

/** The one public endpoint: GraphQL over HTTP and WebSocket, in front of the subgraphs. */
export function gateway(config: GatewayConfig, around: Surroundings): Unit {
  const { addresses, callers } = around;
  const log = createLogger('gateway');
  const metrics = createMetrics('gateway');
  const identity = rpcClient({
    definition: IdentityServiceDefinition,
    unit: 'identity',
    address: () => addresses.of('identity', 'rpc'),
    callers,
  });
  const session = rpcClient({
    definition: SessionServiceDefinition,
    unit: 'session',
    address: () => addresses.of('session', 'rpc'),
    callers,
  });

  const self = unit('gateway', [
    opsServer({
      unit: 'gateway',
      host: around.host,
      port: config.opsPort,
      metrics,
      ready: () => self.ready(),
      onListening: (url) => addresses.announce('gateway', 'ops', url),
    }),
    identity,
    session,
    publicServer(),
  ]);
  return self;

  function publicServer(): Part {
    const closers: (() => Promise<unknown>)[] = [];
    return {
      name: 'gateway public',
      async start() {
        const supergraph = await createSupergraph({ callers, addresses, maxAnswerBytes: config.maxAnswerBytes, log });
        closers.push(() => supergraph.close());
        const tokens = accessTokens(() => identity.calls, config.publicUrl);
        const known = signIns(() => identity.calls);
        const credentials = {
          rules: readFieldRules(supergraph.sdl),
          accessTokens: tokens,
          signIns: known,
          identity: () => identity.calls,
        };
        const authenticate = createAuthenticate(credentials);

        const apollo = new ApolloServer<GatewayContext>({
          gateway: supergraph.gateway,
          introspection: config.introspection,
          includeStacktraceInErrorResponses: false,
          stopOnTerminationSignals: false,
          parseOptions: { maxTokens: config.maxTokens },
          logger: log.child({}, { level: 'warn' }),
          formatError: maskError(log),
          plugins: [operationRules({ authenticate, signIns: known, maxBodyBytes: config.maxBodyBytes, metrics })],
        });
        await apollo.start();
        closers.push(() => apollo.stop());
        attachSubscriptions(supergraph.apiSchema(), { sessionEvents: sessionEvents(() => session.calls) });

        const http = createServer(
          { keepAliveTimeout: 65_000, requestTimeout: 30_000, headersTimeout: 10_000 },
          httpApp({ config, apollo, accessTokens: tokens, log }),
        );
        const sockets = socketServer({
          http,
          schema: () => supergraph.apiSchema(),
          config,
          authenticate,
          ownerOf: createOwnerOf(credentials),
          originOf: originOf(config.trustedProxies),
          log,
        });
        const unsubscribe = await around.keyValue.subscribe(credentialsChannel, () => {
          known.forget();
          sockets.recheck().catch((error: unknown) => log.error({ err: error }, 'sockets could not be checked'));
        });
        await listen(http, config.port, around.host);
        addresses.announce('gateway', 'public', `http://${around.host}:${(http.address() as AddressInfo).port}`);

        closers.push(async () => {
          await unsubscribe();
          const closed = new Promise((resolve) => http.close(resolve));
          await sockets.close();
          http.closeIdleConnections();
          const cut = setTimeout(() => http.closeAllConnections(), 10_000);
          await closed;
          clearTimeout(cut);
        });
      },
      async stop() {
        for (let close = closers.pop(); close; close = closers.pop()) await close();
      },
    };
  }
}

function originOf(trustedProxies: string[]) {
  const trusted = proxyAddr.compile(trustedProxies);
  return (request: IncomingMessage) => ({
    ip: proxyAddr(request, trusted),
    requestId: requestIdFrom(request.headers['x-request-id'] ?? randomUUID()),
  });
}

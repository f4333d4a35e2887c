import type { IncomingMessage } from 'node:http';
import { clientAddress, type RequestSource } from '@parley/kernel/http/client-address';
import { httpDrain, productionLingerMs } from '@parley/kernel/http/http-drain';
import { listen } from '@parley/kernel/http/listen';
import { requestIdFrom } from '@parley/kernel/http/request-id';
import type { Part } from '@parley/kernel/processes/unit';
import { createSessionTokens } from '@parley/kernel/secrets/session-token';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { Metrics } from '@parley/kernel/telemetry/metrics';
import { onAnnouncement } from '@parley/live/key-value/announcements';
import { credentialsChanged } from '@parley/protos/announcements';
import type { CredentialsChanged } from '@parley/protos/parley/identity/v1/announcements';
import type { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import type { SessionServiceDefinition } from '@parley/protos/parley/session/v1/session';
import type { RpcClient } from '@parley/rpc/client';
import type { UnitDependencies } from '@parley/unit/unit-dependencies';
import type { GatewayConfig } from './config.ts';
import { acceptedByIdentity } from './credentials/accepted-by-identity.ts';
import { accessTokens } from './credentials/access-tokens.ts';
import { apiKeyOwners } from './credentials/api-key-owners.ts';
import { type CredentialDeps, createAuthenticate, createOwnerOf } from './credentials/authenticate.ts';
import { createCredentialStatus } from './credentials/credential-status.ts';
import type { Origin } from './credentials/credentials.ts';
import { createApollo } from './graph/apollo.ts';
import { createDocuments } from './graph/documents.ts';
import { createSupergraph, type Supergraph } from './graph/supergraph.ts';
import { httpApp } from './http/app.ts';
import { publicHttp } from './http/public-http.ts';
import { idempotencyKeys } from './idempotency/idempotency-keys.ts';
import { knownNetworks } from './limits/known-networks.ts';
import { createThrottle } from './limits/throttle.ts';
import { waitingQueues } from './limits/waiting-queues.ts';
import { openSockets } from './socket/open-sockets.ts';
import { socketServer } from './socket/socket-server.ts';
import { subscriptionSources } from './socket/subscription-sources.ts';
import { attachSubscriptions } from './socket/subscriptions.ts';

const drainTimeoutMs = 10_000;

export interface PublicServerOptions {
  config: GatewayConfig;
  given: UnitDependencies;
  readSdl: () => Promise<string>;
  identity: () => RpcClient<typeof IdentityServiceDefinition>;
  session: () => RpcClient<typeof SessionServiceDefinition>;
  metrics: Metrics;
  log: Logger;
}

/** Opens the graph, then HTTP and sockets, which use the graph. Closes them in reverse order. */
export function publicServer(options: PublicServerOptions): Part {
  const { config, given, readSdl, identity, session, metrics, log } = options;
  const { addresses, callers, keyValue, host, development, mesh } = given;
  const degraded = metrics.counter(
    'parley_throttle_degraded_total',
    'Throttled requests that this process counted alone, or refused, because counts could not be shared',
  );
  const resumed = metrics.counter(
    'parley_subscription_streams_resumed_total',
    'Streams of subscriptions that were lost and followed again at another replica',
    ['field'],
  );
  let supergraph: Supergraph | undefined;
  metrics.gauge(
    'parley_subgraph_calls_waiting',
    'Calls to subgraphs that are queued, because their client, their tenant or all clients have reached the limit',
    () => supergraph?.waiting() ?? 0,
  );
  const queues = waitingQueues(config, metrics);
  const { calls, starts, replays, scheduler } = queues;
  const clientIp = clientAddress(config.trustedProxies);
  let opened = new AsyncDisposableStack();

  async function open(): Promise<void> {
    const graph = await openGraph();
    await serve(graph);
  }

  /** Loads the schema of all subgraphs and its access rules, and starts the server that executes operations. */
  async function openGraph() {
    const sdl = await readSdl();
    const networks = knownNetworks({ keyValue, ring: config.avatarTokenKeys, log });
    const made = await createSupergraph({ ...config, sdl, callers, knownNetworks: networks, addresses, mesh, log });
    supergraph = made;
    opened.defer(() => made.close());

    const credentials: CredentialDeps = {
      rules: made.rules,
      accessTokens: accessTokens(identity, config.publicUrl),
      sessionTokens: createSessionTokens(config.avatarTokenKeys),
      credentialStatus: createCredentialStatus({ identity, session, calls }),
      apiKeyOwner: apiKeyOwners(identity),
      calls,
    };
    const shared = {
      documents: createDocuments({ ...config, schema: () => made.apiSchema() }),
      authenticate: createAuthenticate(credentials),
      throttle: createThrottle({ rules: made.rules, keyValue, onDegraded: () => degraded.add(), log }),
    };
    const { credentialStatus } = credentials;
    const keys = idempotencyKeys({ identity, calls, log });
    const apollo = createApollo({ ...shared, config, supergraph: made, credentialStatus, keys, metrics, log });
    await apollo.start();
    opened.defer(() => apollo.stop());

    const onResumed = (field: string) => resumed.add({ field });
    const sources = await subscriptionSources({ sdl, addresses, callers, mesh, starts, onResumed }, opened);
    attachSubscriptions(made.apiSchema(), sources);
    return { ...shared, credentials, apollo, schema: () => made.apiSchema() };
  }

  /** Starts to listen for HTTP only when sockets can be served, too. */
  async function serve(graph: Awaited<ReturnType<typeof openGraph>>): Promise<void> {
    const { apollo, credentials, documents } = graph;
    const { rules, accessTokens } = credentials;
    const http = publicHttp(
      config,
      httpApp({ config, apollo, rules, accessTokens, documents, clientIp, scheduler, log }),
    );
    const { drain } = httpDrain(http);
    const sockets = await openSocketServer(graph, http);
    const address = await listen(http, config.port, host);
    opened.defer(async () => {
      const closed = drain(drainTimeoutMs, development ? 0 : productionLingerMs);
      await sockets.close();
      await closed;
    });
    addresses.announce('gateway', 'public', `http://${address}`);
  }

  async function openSocketServer(
    { credentials, schema, documents, authenticate, throttle }: Awaited<ReturnType<typeof openGraph>>,
    http: ReturnType<typeof publicHttp>,
  ) {
    const { credentialStatus } = credentials;
    const { maxAgeMs, initTimeoutMs: anonymousMaxAgeMs } = config.socket;
    const ownerOf = createOwnerOf(credentials);
    const registry = openSockets({ ownerOf, credentialStatus, maxAgeMs, anonymousMaxAgeMs, log });
    opened.defer(() => registry.stop());
    const originOf = originsBy(clientIp);
    const shared = { config, documents, authenticate, throttle, replays, scheduler };
    const sockets = socketServer({ ...shared, http, schema, open: registry, originOf, log });
    const onChanged = (changed: CredentialsChanged | undefined) => {
      credentialStatus.invalidate(changed);
      registry.recheck(changed);
    };
    // If announcements fail, cached status expires after a second and open sockets are checked every half second.
    opened.defer(await onAnnouncement(keyValue, credentialsChanged, onChanged, log));
    return sockets;
  }

  async function close(): Promise<void> {
    const closing = opened;
    opened = new AsyncDisposableStack();
    await closing.disposeAsync();
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
    stop: close,
    ready: acceptedByIdentity(identity, log),
  };
}

/** Returns the origin of a request, cached per request, so that the request id stays the same. */
function originsBy(clientIp: (request: RequestSource) => string) {
  const origins = new WeakMap<IncomingMessage, Origin>();
  return (request: IncomingMessage): Origin => {
    const known = origins.get(request);
    if (known) return known;
    const origin = { ip: clientIp(request), requestId: requestIdFrom(request.headers['x-request-id']) };
    origins.set(request, origin);
    return origin;
  };
}

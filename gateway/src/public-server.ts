import { createServer, type IncomingMessage } from 'node:http';
import { ApolloServer } from '@apollo/server';
import { answerWriter } from '@parley/graph/answer-size';
import { clientAddress, type RequestSource, trustedProxy } from '@parley/kernel/http/client-address';
import { httpDrain, productionLingerMs } from '@parley/kernel/http/http-drain';
import { listen } from '@parley/kernel/http/listen';
import { requestIdFrom } from '@parley/kernel/http/request-id';
import type { Part } from '@parley/kernel/processes/unit';
import { requestTurns } from '@parley/kernel/queues/request-turns';
import { createSessionTokens } from '@parley/kernel/secrets/session-token';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { Metrics } from '@parley/kernel/telemetry/metrics';
import { onAnnouncement } from '@parley/live/key-value/announcements';
import { credentialsChanged } from '@parley/protos/announcements';
import type { CredentialsChanged } from '@parley/protos/parley/identity/v1/announcements';
import type { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import { SubscriptionServiceDefinition } from '@parley/protos/parley/live/v1/subscriptions';
import type { SessionServiceDefinition } from '@parley/protos/parley/session/v1/session';
import { type RpcClient, type RpcClientPart, rpcClient } from '@parley/rpc/client';
import type { UnitDependencies } from '@parley/unit/unit-dependencies';
import type { GatewayConfig } from './config.ts';
import { acceptedByIdentity } from './credentials/accepted-by-identity.ts';
import { accessTokens } from './credentials/access-tokens.ts';
import { apiKeyOwners } from './credentials/api-key-owners.ts';
import { createAuthenticate, createOwnerOf } from './credentials/authenticate.ts';
import { credentialCalls } from './credentials/credential-calls.ts';
import { createCredentialStatus } from './credentials/credential-status.ts';
import type { Origin } from './credentials/credentials.ts';
import { createDocuments } from './graph/documents.ts';
import type { GatewayContext } from './graph/gateway-context.ts';
import { maskError } from './graph/mask-error.ts';
import { operationRules } from './graph/operation-rules.ts';
import { passedAnswers, passing } from './graph/passed-answers.ts';
import { createSupergraph, type Supergraph } from './graph/supergraph.ts';
import { httpApp } from './http/app.ts';
import { boundConnections } from './http/connections.ts';
import { refuseUnreadable } from './http/raw-refusals.ts';
import { idempotencyKeys } from './idempotency/idempotency-keys.ts';
import { idempotentRequests } from './idempotency/idempotent-requests.ts';
import { createThrottle } from './limits/throttle.ts';
import { openSockets } from './socket/open-sockets.ts';
import { replayTurns } from './socket/replay-turns.ts';
import { asksForSocket, socketServer } from './socket/socket-server.ts';
import { streamedField } from './socket/streamed-field.ts';
import { fieldsWithAfter, subscriptionOwners } from './socket/subscription-owners.ts';
import { subscriptionStarts } from './socket/subscription-starts.ts';
import { attachSubscriptions, type SubscriptionSource } from './socket/subscriptions.ts';

/** A session, its tenant and an API key. */
const lookupsPerSocket = 3;

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

export function publicServer(options: PublicServerOptions): Part {
  const { config, given, readSdl, identity, session, metrics, log } = options;
  const { addresses, callers, keyValue, host, development, mesh } = given;
  const { introspection, maxAnswerBytes, maxBodyBytes, subgraphTimeoutMs, subgraphCalls, longCalls } = config;
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
    'Calls to subgraphs that wait for their turn, because their client, their tenant or all have as many under way as may',
    () => supergraph?.waiting() ?? 0,
  );
  const calls = credentialCalls({
    limits: subgraphCalls,
    newSocketsWaiting: config.maxSocketsPerClient * lookupsPerSocket,
  });
  metrics.gauge(
    'parley_credential_checks_waiting',
    'Questions about credentials that wait for their turn, because their client or all have as many under way as may',
    () => calls.waiting,
  );
  const starts = subscriptionStarts({ ...config.subscriptionStarts, timeoutMs: subgraphTimeoutMs });
  metrics.gauge(
    'parley_subscriptions_waiting',
    'Subscriptions that wait to begin, because of their client, their tenant or all as many are beginning as may',
    () => starts.waiting,
  );
  const replays = replayTurns();
  metrics.gauge(
    'parley_replayed_events_waiting',
    'Replays of which the next event waits for its turn among those of all sockets',
    () => replays.waiting,
  );
  const turns = requestTurns();
  metrics.gauge(
    'parley_requests_waiting',
    'HTTP requests and frames of sockets that wait for their turn to be worked on',
    () => turns.waiting,
  );
  const closers: (() => Promise<unknown>)[] = [];

  async function open(): Promise<void> {
    const sdl = await readSdl();
    const made = await createSupergraph({
      sdl,
      callers,
      addresses,
      mesh,
      subgraphTimeoutMs,
      subgraphConnectionMs: config.subgraphConnectionMs,
      subgraphCalls,
      longCalls,
      maxAnswerBytes,
      log,
    });
    supergraph = made;
    closers.push(() => made.close());
    const { rules } = made;
    const tokens = accessTokens(identity, config.publicUrl);
    const sessionTokens = createSessionTokens(config.avatarTokenKeys);
    const credentialStatus = createCredentialStatus({ identity, session, calls });
    const apiKeyOwner = apiKeyOwners(identity);
    const credentialDeps = { rules, accessTokens: tokens, sessionTokens, credentialStatus, apiKeyOwner, calls };
    const authenticate = createAuthenticate(credentialDeps);

    const clientIp = clientAddress(config.trustedProxies);
    const throttle = createThrottle({ rules, keyValue, onDegraded: () => degraded.add(), log });
    const documents = createDocuments({ ...config, schema: () => made.apiSchema() });

    const apollo = new ApolloServer<GatewayContext>({
      gateway: made.gateway,
      introspection,
      hideSchemaDetailsFromClientErrors: !introspection,
      persistedQueries: false, // clients could fill the cache
      includeStacktraceInErrorResponses: false,
      stopOnTerminationSignals: false,
      documentStore: null, // documents are parsed and cached before this
      stringifyResult: passing(answerWriter(maxAnswerBytes)),
      logger: log.child({}, { level: 'warn' }),
      formatError: maskError(log),
      plugins: [
        operationRules({
          rules,
          authenticate,
          credentialStatus,
          throttle,
          documents,
          maxBodyBytes,
          maxAnswerBytes,
          metrics,
          log,
        }),
        // Hooks of a kind begin in this order: an answer is kept as it is sent.
        idempotentRequests({
          keys: idempotencyKeys({ identity, calls, log }),
          maxKeptBytes: config.maxKeptAnswerBytes,
          log,
        }),
        passedAnswers({ rules, sourceOf: made.sourceOf, maxKeptBytes: config.maxKeptAnswerBytes }),
      ],
    });
    await apollo.start();
    closers.push(() => apollo.stop());
    attachSubscriptions(made.apiSchema(), await subscriptionSources(sdl));

    const http = createServer(
      {
        keepAliveTimeout: 65_000,
        requireHostHeader: false, // the app refuses it with an API error
        shouldUpgradeCallback: asksForSocket,
        requestTimeout: config.requestTimeoutMs,
        headersTimeout: Math.min(10_000, config.requestTimeoutMs),
        connectionsCheckingInterval: Math.min(5_000, config.requestTimeoutMs),
      },
      httpApp({ config, apollo, rules, accessTokens: tokens, documents, clientIp, turns, log }),
    );
    refuseUnreadable(http);
    boundConnections(http, config, trustedProxy(config.trustedProxies));
    const { drain } = httpDrain(http);
    const { maxAgeMs, initTimeoutMs: anonymousMaxAgeMs } = config.socket;
    const registry = openSockets({
      ownerOf: createOwnerOf(credentialDeps),
      credentialStatus,
      maxAgeMs,
      anonymousMaxAgeMs,
      log,
    });
    closers.push(async () => registry.stop());
    const sockets = socketServer({
      http,
      schema: () => made.apiSchema(),
      config,
      documents,
      authenticate,
      throttle,
      open: registry,
      replays,
      turns,
      originOf: originOf(clientIp),
      log,
    });
    const onChanged = (changed: CredentialsChanged | undefined) => {
      credentialStatus.invalidate(changed);
      registry.recheck(changed);
    };
    // If announcements fail, cached status expires after a second and open sockets are checked every half second.
    const unsubscribe = await onAnnouncement(keyValue, credentialsChanged, onChanged, log);
    closers.push(unsubscribe);
    const address = await listen(http, config.port, host);
    closers.push(async () => {
      const closed = drain(drainTimeoutMs, development ? 0 : productionLingerMs);
      await sockets.close();
      await closed;
    });
    addresses.announce('gateway', 'public', `http://${address}`);
  }

  /** Maps each Subscription field to the event stream of its owner. */
  async function subscriptionSources(sdl: string): Promise<Record<string, SubscriptionSource>> {
    const owners = subscriptionOwners(sdl);
    const clients = new Map<string, RpcClientPart<SubscriptionServiceDefinition>>();
    for (const unit of new Set(owners.values())) {
      const address = () => addresses.of(unit, 'rpc');
      const client = rpcClient({
        definition: SubscriptionServiceDefinition,
        unit,
        address,
        callers,
        mesh,
        slowReaders: true,
      });
      await client.start();
      closers.push(() => client.stop());
      clients.set(unit, client);
    }
    const withAfter = fieldsWithAfter(sdl);
    const sources = [...owners].flatMap(([name, unit]) => {
      const client = clients.get(unit);
      const field = { name, takesAfter: withAfter.has(name) };
      const onResumed = () => resumed.add({ field: name });
      return client ? [[name, streamedField(field, () => client.calls, starts, onResumed)] as const] : [];
    });
    return Object.fromEntries(sources);
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
    stop: close,
    ready: acceptedByIdentity(identity, log),
  };
}

/** Cached per request, so that the request id stays the same. */
function originOf(clientIp: (request: RequestSource) => string) {
  const origins = new WeakMap<IncomingMessage, Origin>();
  return (request: IncomingMessage): Origin => {
    const known = origins.get(request);
    if (known) return known;
    const origin = { ip: clientIp(request), requestId: requestIdFrom(request.headers['x-request-id']) };
    origins.set(request, origin);
    return origin;
  };
}

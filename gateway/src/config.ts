import type { FairQueueLimits } from '@parley/kernel/queues/fair-queue';
import { type Environment, readSettings, SettingsError } from '@parley/kernel/settings/config';
import { byteCount, flag, port, positiveInt } from '@parley/kernel/settings/setting-types';
import { type Settings, setting, type ValuesOf } from '@parley/kernel/settings/settings';
import {
  avatarTokenKeysSetting,
  corsOriginsSetting,
  portSettings,
  publicUrlSetting,
  trustedProxiesSetting,
} from '@parley/kernel/settings/shared-settings';
import type { SubgraphShare } from './graph/subgraph-share.ts';

/**
 * The gateway accepts 1 MiB less than subgraphs do (9 MiB, `@parley/subgraph`). The difference is for what the gateway adds to the client's
 * request.
 */
const maxBodyBytes = 8 * 1_048_576;
const bodyBytes = positiveInt.max(maxBodyBytes, `is above ${maxBodyBytes}, the most that subgraphs take`);

export const gatewaySettings = {
  port: setting(
    'GATEWAY_PORT',
    port.default(4000),
    'Port for GraphQL from clients, over HTTP and WebSocket; 0 takes any free port.',
  ),
  ...portSettings('gateway', ['ops']),
  publicUrl: publicUrlSetting,
  avatarTokenKeys: avatarTokenKeysSetting,
  corsOrigins: corsOriginsSetting,
  trustedProxies: trustedProxiesSetting,
  introspection: setting('INTROSPECTION', flag.default(true), 'Whether clients may read the schema.', {
    productionDefault: false,
  }),
  maxTokens: setting(
    'GATEWAY_MAX_TOKENS',
    positiveInt.default(2_000),
    'Maximum number of tokens of a GraphQL document; a longer document is refused with `GRAPHQL_PARSE_FAILED`.',
  ),
  maxDepth: setting(
    'GATEWAY_MAX_DEPTH',
    positiveInt.default(7),
    'Maximum number of levels of fields in an operation; a deeper operation is refused with `DEPTH_LIMIT`.',
  ),
  maxComplexity: setting(
    'GATEWAY_MAX_COMPLEXITY',
    positiveInt.default(50),
    'Maximum number of fields in an operation, with fragments expanded and without introspection. An operation with more fields is refused with `COMPLEXITY_LIMIT`.',
  ),
  maxSelections: setting(
    'GATEWAY_MAX_SELECTIONS',
    positiveInt.default(300),
    'Maximum number of selections in an operation, including introspection, fragments and spreads. An operation with more selections is refused with `COMPLEXITY_LIMIT`.',
  ),
  maxBodyBytes: setting(
    'GATEWAY_MAX_BODY_BYTES',
    bodyBytes.default(1_048_576),
    'Maximum size of a request body, at most 8388608; a larger body is refused with HTTP 413. Operations with `@longBody` have the limit `GATEWAY_MAX_LONG_BODY_BYTES` instead, but their `query` text keeps this limit.',
  ),
  maxLongBodyBytes: setting(
    'GATEWAY_MAX_LONG_BODY_BYTES',
    bodyBytes.default(8_388_608),
    'Maximum size of a request body for operations with `@longBody` (long texts, audio, images), at most 8388608; a larger body is refused with HTTP 413.',
  ),
  maxBodiesBytes: setting(
    'GATEWAY_MAX_BODIES_BYTES',
    byteCount.default(268_435_456),
    'Maximum total size of the request bodies over 64 KB that are received or processed at once; one client may use a quarter. Shorter bodies have a separate limit of half the size. Further requests are refused with HTTP 429 or 503.',
  ),
  requestTimeoutMs: setting(
    'GATEWAY_REQUEST_TIMEOUT_MS',
    positiveInt.default(30_000),
    'Maximum time for a client to send a request; a slower request is refused with HTTP 408.',
  ),
  subgraphTimeoutMs: setting(
    'GATEWAY_SUBGRAPH_TIMEOUT_MS',
    positiveInt.default(30_000),
    "Maximum time for a subgraph's part of an answer, including the wait in the gateway's queue. Then the part fails with `UNAVAILABLE`. A call that would probably wait for more than half of this time is refused sooner, with `TOO_MANY_REQUESTS` or `UNAVAILABLE`.",
  ),
  subgraphConnectionMs: setting(
    'GATEWAY_SUBGRAPH_CONNECTION_MS',
    positiveInt.default(60_000),
    'Maximum age of a connection to a subgraph. Behind an address that balances connections, a new connection may lead to an added process.',
  ),
  calls: {
    inFlight: setting(
      'GATEWAY_SUBGRAPH_CALLS',
      positiveInt.default(64),
      'Maximum number of concurrent calls of one gateway process to one subgraph; further calls wait. Also the maximum number of subscriptions that start at once in one process, over all subgraphs.',
    ),
    perClient: setting(
      'GATEWAY_SUBGRAPH_CALLS_PER_CLIENT',
      positiveInt.default(8),
      'Maximum number of concurrent calls of one client to one subgraph; further calls wait. A client is an IPv4 address or an IPv6 /64; for attempts to sign in, an IPv4 /24 or an IPv6 /48.',
    ),
    perTenant: setting(
      'GATEWAY_SUBGRAPH_CALLS_PER_TENANT',
      positiveInt.default(16),
      "Maximum number of concurrent calls of one tenant to one subgraph; further calls wait. The limit also applies to each user without a tenant, to sign-in attempts from networks where a sign-in succeeded in the last 30 days, to other sign-in attempts, and to other calls without a sign-in. A higher value ends a tenant's burst sooner and delays other tenants.",
    ),
    waitingPerClient: setting(
      'GATEWAY_SUBGRAPH_WAITING_PER_CLIENT',
      positiveInt.default(500),
      'Maximum number of calls of one client that wait for one subgraph; a further call is refused with `TOO_MANY_REQUESTS`.',
    ),
    waitingPerTenant: setting(
      'GATEWAY_SUBGRAPH_WAITING_PER_TENANT',
      positiveInt.default(2_000),
      'Maximum number of calls of one tenant that wait for one subgraph; a further call is refused with `TOO_MANY_REQUESTS`. The limit also applies to each other group that `GATEWAY_SUBGRAPH_CALLS_PER_TENANT` names.',
    ),
  },
  long: {
    timeoutMs: setting(
      'GATEWAY_LONG_CALL_TIMEOUT_MS',
      positiveInt.default(310_000),
      "Maximum time for a subgraph's part of an operation with `@longRunning`, such as one that waits for a model. Then the part fails with `UNAVAILABLE`. Set it above the sum of the `…_CALL_TIMEOUT_MS` of all providers that one call may ask.",
    ),
    inFlight: setting(
      'GATEWAY_LONG_CALLS',
      positiveInt.default(500),
      'Maximum number of concurrent calls of operations with `@longRunning` to one subgraph, in addition to `GATEWAY_SUBGRAPH_CALLS`; further calls wait.',
    ),
    perTenant: setting(
      'GATEWAY_LONG_CALLS_PER_TENANT',
      positiveInt.default(100),
      'Maximum number of concurrent calls of operations with `@longRunning` to one subgraph, for one tenant and likewise for one client; further calls wait. Operations with `@longRunning(callsPerTenant: …)` have a lower limit for one tenant.',
    ),
  },
  maxAnswerBytes: setting(
    'GATEWAY_MAX_ANSWER_BYTES',
    positiveInt.default(33_554_432),
    'Maximum size of an answer, and total size of all answers of subgraphs that it is made from. Above this limit the request fails with `BAD_REQUEST` (`ANSWER_TOO_LARGE`).',
  ),
  maxKeptAnswerBytes: setting(
    'GATEWAY_MAX_KEPT_ANSWER_BYTES',
    positiveInt.default(65_536),
    'Maximum size of an answer that is kept for retries of a request with an `Idempotency-Key`. Retries of a request with a larger answer are refused with `CONFLICT` (`ANSWER_NOT_KEPT`).',
  ),
  maxAnswersBytes: setting(
    'GATEWAY_MAX_ANSWERS_BYTES',
    byteCount.default(268_435_456),
    'Maximum total size of answers that clients have not read yet; one client may use a quarter. Above the limit, an answer over 64 KB is replaced by an error with HTTP 429 or 503.',
  ),
  answerStallMs: setting(
    'GATEWAY_ANSWER_STALL_MS',
    positiveInt.default(60_000),
    'Maximum time that a written answer may wait for a client that reads nothing of the answer. Then the connection is closed.',
  ),
  maxConnections: setting(
    'GATEWAY_MAX_CONNECTIONS',
    positiveInt.default(15_000),
    'Maximum number of connections of one process, including WebSockets; a further connection is closed at once.',
  ),
  maxConnectionsPerClient: setting(
    'GATEWAY_CONNECTIONS_PER_CLIENT',
    positiveInt.default(2_000),
    'Maximum number of connections of one client, except trusted proxies; a further connection is closed at once. Also the maximum number of requests of one client in progress; a further request is refused with HTTP 429.',
  ),
  maxSockets: setting(
    'GATEWAY_MAX_SOCKETS',
    positiveInt.default(10_000),
    'Maximum number of WebSockets of one process; a further WebSocket is refused with HTTP 503.',
  ),
  maxSocketsPerClient: setting(
    'GATEWAY_SOCKETS_PER_CLIENT',
    positiveInt.default(1_000),
    'Maximum number of WebSockets of one client, which is an IPv4 address or an IPv6 /64; a further WebSocket is refused with HTTP 429.',
  ),
  socket: {
    maxSubscriptions: setting(
      'GATEWAY_SOCKET_SUBSCRIPTIONS',
      positiveInt.default(50),
      'Maximum number of subscriptions on one WebSocket; a further subscription is refused with `TOO_MANY_REQUESTS`.',
    ),
    maxFrameBytes: setting(
      'GATEWAY_SOCKET_FRAME_BYTES',
      positiveInt.default(262_144),
      'Maximum size of one WebSocket message from a client; a larger message closes the WebSocket.',
    ),
    maxMessagesPerSecond: setting(
      'GATEWAY_SOCKET_MESSAGES_PER_SECOND',
      positiveInt.default(200),
      'Maximum number of messages, pings and pongs that a client may send in a second on one WebSocket; more close the WebSocket with 4429.',
    ),
    maxUnsentBytes: setting(
      'GATEWAY_SOCKET_UNSENT_BYTES',
      positiveInt.default(1_048_576),
      'Maximum size of the data that waits to be sent to a slow client on one WebSocket; more data closes the WebSocket with 4408.',
    ),
    initTimeoutMs: setting(
      'GATEWAY_SOCKET_INIT_TIMEOUT_MS',
      positiveInt.default(3_000),
      'Maximum time for a client to send `connection_init` on a new WebSocket; then the WebSocket is closed with 4408. Also the maximum age of a WebSocket without a credential.',
    ),
    pingMs: setting(
      'GATEWAY_SOCKET_PING_MS',
      positiveInt.default(12_000),
      'Interval between pings on a WebSocket, and the maximum time for the answer to a ping. Without an answer, the WebSocket is closed.',
    ),
    maxAgeMs: setting(
      'GATEWAY_SOCKET_MAX_AGE_MS',
      positiveInt.default(86_400_000),
      'Maximum age of a WebSocket, whatever credential it has.',
    ),
  },
} satisfies Settings;

export type GatewayConfig = ReturnType<typeof readGatewayConfig>;

const startsPerSocket = 5;
/** The share of a call's time limit that it may spend in the queue. */
const waitedShare = 1 / 2;

export function readGatewayConfig(env: Environment) {
  const { calls, long, ...read } = readSettings(env, gatewaySettings);
  if (read.maxBodyBytes > read.maxLongBodyBytes)
    throw new SettingsError(['GATEWAY_MAX_BODY_BYTES: is above GATEWAY_MAX_LONG_BODY_BYTES']);
  return {
    ...read,
    explorer: env.NODE_ENV !== 'production',
    subgraphCalls: { ...subgraphCallLimits(calls), longestWaitMs: read.subgraphTimeoutMs * waitedShare },
    longCalls: {
      timeoutMs: long.timeoutMs,
      calls: subgraphCallLimits({ ...calls, ...long, perClient: long.perTenant }),
    },
    subscriptionStarts: {
      limits: {
        inFlight: calls.inFlight,
        shares: {
          // When a gateway stops, all of its sockets reconnect to another gateway at once, with all their subscriptions. So the queues for
          // starting subscriptions have room for all of these subscriptions.
          address: { inFlight: calls.perClient, waiting: startsPerSocket * read.maxSocketsPerClient },
          tenant: { inFlight: calls.perTenant, waiting: startsPerSocket * read.maxSockets },
        },
      } satisfies FairQueueLimits<'address' | 'tenant'>,
      /** After this time in ms, a subscription counts as started even if its service has not confirmed it. */
      longestMs: 1_000,
    },
  };
}

function subgraphCallLimits(calls: ValuesOf<typeof gatewaySettings.calls>): FairQueueLimits<SubgraphShare> {
  const tenant = { inFlight: calls.perTenant, waiting: calls.waitingPerTenant };
  return {
    inFlight: calls.inFlight,
    shares: {
      address: { inFlight: calls.perClient, waiting: calls.waitingPerClient },
      tenant,
      user: tenant,
      anonymous: { ...tenant, label: 'of callers who are not signed in' },
    },
  };
}

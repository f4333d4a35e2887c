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
    'Where clients reach GraphQL over HTTP and WebSocket; 0 takes any free port.',
  ),
  ...portSettings('gateway', ['ops']),
  publicUrl: publicUrlSetting,
  avatarTokenKeys: avatarTokenKeysSetting,
  corsOrigins: corsOriginsSetting,
  trustedProxies: trustedProxiesSetting,
  introspection: setting('INTROSPECTION', flag.default(true), 'Whether clients may read the schema.', {
    productionDefault: false,
  }),
  maxTokens: setting('GATEWAY_MAX_TOKENS', positiveInt.default(2_000), 'Tokens of a document.'),
  maxDepth: setting('GATEWAY_MAX_DEPTH', positiveInt.default(7), 'Levels of fields in an operation.'),
  maxComplexity: setting(
    'GATEWAY_MAX_COMPLEXITY',
    positiveInt.default(50),
    'Fields of one operation, fragments expanded, introspection excluded.',
  ),
  maxSelections: setting(
    'GATEWAY_MAX_SELECTIONS',
    positiveInt.default(300),
    'Selections of an operation, introspection, fragments and spreads included.',
  ),
  maxBodyBytes: setting(
    'GATEWAY_MAX_BODY_BYTES',
    bodyBytes.default(1_048_576),
    "Bytes of a request's body, at most 8388608.",
  ),
  maxLongBodyBytes: setting(
    'GATEWAY_MAX_LONG_BODY_BYTES',
    bodyBytes.default(8_388_608),
    'The same for operations with `@longBody`: long texts, audio, images.',
  ),
  maxBodiesBytes: setting(
    'GATEWAY_MAX_BODIES_BYTES',
    byteCount.default(268_435_456),
    'Bytes of all bodies over 64 KB together that are being received or worked on; one client has a quarter. Shorter ones have half of that for themselves.',
  ),
  requestTimeoutMs: setting(
    'GATEWAY_REQUEST_TIMEOUT_MS',
    positiveInt.default(30_000),
    'How long a client may take to send a request.',
  ),
  subgraphTimeoutMs: setting(
    'GATEWAY_SUBGRAPH_TIMEOUT_MS',
    positiveInt.default(30_000),
    'How long a subgraph may take in all for its part of an answer, its turn to be asked included; then `UNAVAILABLE`.',
  ),
  subgraphConnectionMs: setting(
    'GATEWAY_SUBGRAPH_CONNECTION_MS',
    positiveInt.default(60_000),
    'How long a connection to a subgraph is used. Behind an address that balances connections, a new one may lead to an added process.',
  ),
  calls: {
    inFlight: setting(
      'GATEWAY_SUBGRAPH_CALLS',
      positiveInt.default(64),
      'Calls to one subgraph that are under way at once; subscriptions that begin likewise.',
    ),
    perClient: setting(
      'GATEWAY_SUBGRAPH_CALLS_PER_CLIENT',
      positiveInt.default(8),
      'The same of one client: an IPv4 address or an IPv6 /64; of attempts to sign in, an IPv4 /24 or an IPv6 /48.',
    ),
    perTenant: setting(
      'GATEWAY_SUBGRAPH_CALLS_PER_TENANT',
      positiveInt.default(16),
      'The same of one tenant, of a user in none, of all attempts to sign in from networks where one succeeded in the last 30 days, of all other attempts, and of all else that is public. A burst of one tenant is over sooner with more; others wait behind as many.',
    ),
    waitingPerClient: setting(
      'GATEWAY_SUBGRAPH_WAITING_PER_CLIENT',
      positiveInt.default(500),
      'Calls of one client to one subgraph that may wait; one more is `TOO_MANY_REQUESTS`.',
    ),
    waitingPerTenant: setting(
      'GATEWAY_SUBGRAPH_WAITING_PER_TENANT',
      positiveInt.default(2_000),
      'The same of each of those that `GATEWAY_SUBGRAPH_CALLS_PER_TENANT` is for.',
    ),
  },
  long: {
    timeoutMs: setting(
      'GATEWAY_LONG_CALL_TIMEOUT_MS',
      positiveInt.default(310_000),
      'The same of operations that wait for a model: above the `…_CALL_TIMEOUT_MS` of all providers that may be asked in turn.',
    ),
    inFlight: setting(
      'GATEWAY_LONG_CALLS',
      positiveInt.default(500),
      'Such calls under way at once, beside the others.',
    ),
    perTenant: setting('GATEWAY_LONG_CALLS_PER_TENANT', positiveInt.default(100), 'The same of one tenant.'),
  },
  maxAnswerBytes: setting(
    'GATEWAY_MAX_ANSWER_BYTES',
    positiveInt.default(33_554_432),
    'Bytes of an answer, and of all that was read for it; more is `ANSWER_TOO_LARGE`.',
  ),
  maxKeptAnswerBytes: setting(
    'GATEWAY_MAX_KEPT_ANSWER_BYTES',
    positiveInt.default(65_536),
    'Bytes of an answer that is kept for retries with its `Idempotency-Key`; in place of a larger one they get `CONFLICT`, `ANSWER_NOT_KEPT`.',
  ),
  maxAnswersBytes: setting(
    'GATEWAY_MAX_ANSWERS_BYTES',
    byteCount.default(268_435_456),
    'Bytes of all answers together that are written and not read yet; one client has a quarter.',
  ),
  answerStallMs: setting(
    'GATEWAY_ANSWER_STALL_MS',
    positiveInt.default(60_000),
    'How long a written answer may wait for a client that reads nothing of it; then the connection is cut.',
  ),
  maxConnections: setting(
    'GATEWAY_MAX_CONNECTIONS',
    positiveInt.default(15_000),
    'Connections of one process, those of sockets included.',
  ),
  maxConnectionsPerClient: setting(
    'GATEWAY_CONNECTIONS_PER_CLIENT',
    positiveInt.default(2_000),
    'The same of one client, trusted proxies apart, and its requests under way.',
  ),
  maxSockets: setting(
    'GATEWAY_MAX_SOCKETS',
    positiveInt.default(10_000),
    'Sockets of one process; one more is answered 503.',
  ),
  maxSocketsPerClient: setting(
    'GATEWAY_SOCKETS_PER_CLIENT',
    positiveInt.default(1_000),
    'The same of one client: an IPv4 address or an IPv6 /64; one more is answered 429.',
  ),
  socket: {
    maxSubscriptions: setting('GATEWAY_SOCKET_SUBSCRIPTIONS', positiveInt.default(50), 'Subscriptions of one socket.'),
    maxFrameBytes: setting(
      'GATEWAY_SOCKET_FRAME_BYTES',
      positiveInt.default(262_144),
      'Bytes of one frame from a client.',
    ),
    maxMessagesPerSecond: setting(
      'GATEWAY_SOCKET_MESSAGES_PER_SECOND',
      positiveInt.default(200),
      'Frames that a client may send in a second.',
    ),
    maxUnsentBytes: setting(
      'GATEWAY_SOCKET_UNSENT_BYTES',
      positiveInt.default(1_048_576),
      'Bytes that may wait for a slow client.',
    ),
    initTimeoutMs: setting(
      'GATEWAY_SOCKET_INIT_TIMEOUT_MS',
      positiveInt.default(3_000),
      'How long a client may take to send `connection_init`.',
    ),
    pingMs: setting(
      'GATEWAY_SOCKET_PING_MS',
      positiveInt.default(12_000),
      'How often sockets are pinged, and how long the answer may take.',
    ),
    maxAgeMs: setting(
      'GATEWAY_SOCKET_MAX_AGE_MS',
      positiveInt.default(86_400_000),
      'How long a socket may stay open, whatever credential it has.',
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

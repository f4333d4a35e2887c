import { type Environment, flag, httpUrl, list, port, positiveInt, readSettings } from '@parley/chassis/config';
import type { FairQueueLimits } from '@parley/chassis/fair-queue';
import { type KeyRing, keyRing } from '@parley/chassis/key-ring';
import type { SubgraphParty } from './graph/subgraph-party.ts';
import { readNetwork } from './limits/client-address.ts';

export interface GatewayConfig {
  /** Where clients reach GraphQL over HTTP and WebSocket. Default 4000. */
  port: number;
  /** Where liveness, readiness and metrics are asked for; 0, the default, is any free port. */
  opsPort: number;
  /** The address that clients know: issuer and audience of access tokens. */
  publicUrl: string;
  /** What session tokens are verified with. */
  avatarTokenKeys: KeyRing;
  /** Proxies whose `X-Forwarded-For` is believed, as CIDRs. */
  trustedProxies: string[];
  /** Origins that browsers may call from; `*` for any, none for no browser of another origin. */
  corsOrigins: string[];
  /** Whether clients may ask for the schema. Default: not in production. */
  introspection: boolean;
  /** Whether a browser that opens the endpoint finds an explorer there. */
  explorer: boolean;
  /** Tokens of a document that the lexer reads before it refuses. */
  maxTokens: number;
  /** Levels of fields in an operation. */
  maxDepth: number;
  /** Fields of an operation, fragments spread out, introspection apart. */
  maxComplexity: number;
  /** Selections of an operation, introspection and fragments included. */
  maxSelections: number;
  /** Bytes of a request's body. */
  maxBodyBytes: number;
  /** The same for requests that carry long texts, audio or images. */
  maxLongBodyBytes: number;
  /**
   * Bytes of all bodies over 64 KB together that are being received or worked on; one client has a quarter. Shorter ones have
   * room of their own, half of that.
   */
  maxBodiesBytes: number;
  /** How long a client may take to send a request, in ms. */
  requestTimeoutMs: number;
  /** How long a subgraph may take to answer in all, its turn to be asked included, in ms. */
  subgraphTimeoutMs: number;
  /** Calls to one subgraph that are under way at once, and of each party. */
  subgraphCalls: FairQueueLimits<SubgraphParty>;
  subscriptionStarts: {
    /** Subscriptions that are beginning at once, of all, of one client and of one tenant; and how many of them may wait to begin. */
    limits: FairQueueLimits<'address' | 'tenant'>;
    /** How long one counts as beginning that does not say that it has begun, in ms. */
    longestMs: number;
  };
  /** Bytes of an answer, also when several subgraphs have their part in it. */
  maxAnswerBytes: number;
  /** Bytes of all answers together that are written and not read yet; one client has a quarter. */
  maxAnswersBytes: number;
  /** How long a written answer may wait for a client that reads nothing of it, in ms. Then the connection is cut. */
  answerStallMs: number;
  /** Connections open at once, those of sockets included. */
  maxConnections: number;
  /** The same of one client (an IPv4 address or an IPv6 /64), trusted proxies apart, and its requests under way. */
  maxConnectionsPerClient: number;
  /** Sockets open at once. */
  maxSockets: number;
  /** The same of one client: an IPv4 address or an IPv6 /64. */
  maxSocketsPerClient: number;
  /** Per socket. */
  socket: {
    /** Subscriptions open at once. */
    maxSubscriptions: number;
    /** Bytes of one frame from the client. */
    maxFrameBytes: number;
    /** How long a client may take to introduce itself with `connection_init`, in ms. */
    initTimeoutMs: number;
    /** How long it may stay open, in ms. */
    maxAgeMs: number;
    maxMessagesPerSecond: number;
    /** Bytes that may wait for a slow client. */
    maxUnsentBytes: number;
    /** How often the client is asked whether it is there, in ms. */
    pingMs: number;
  };
}

/** How many subscriptions of each socket may wait to begin, over all sockets that a client or a tenant may hold. */
const startsPerSocket = 5;

/** Reads the gateway's settings; see its README for what each means. @throws SettingsError naming all that is wrong. */
export function readGatewayConfig(env: Environment): GatewayConfig {
  const development = env.NODE_ENV !== 'production';
  const settings = readSettings(env, {
    GATEWAY_PORT: port.default(4000),
    GATEWAY_OPS_PORT: port.default(0),
    PARLEY_PUBLIC_URL: httpUrl.default('http://localhost:4000'),
    AVATAR_TOKEN_KEYS: keyRing,
    TRUSTED_PROXIES: list.refine(areCidrs, 'is not a list of addresses or CIDRs').default([]),
    CORS_ORIGINS: list.default(development ? ['*'] : []),
    INTROSPECTION: flag.default(development),
    GATEWAY_MAX_TOKENS: positiveInt.default(2_000),
    GATEWAY_MAX_DEPTH: positiveInt.default(7),
    GATEWAY_MAX_COMPLEXITY: positiveInt.default(50),
    GATEWAY_MAX_SELECTIONS: positiveInt.default(300),
    GATEWAY_MAX_BODY_BYTES: positiveInt.default(1_048_576),
    GATEWAY_MAX_LONG_BODY_BYTES: positiveInt.default(8_388_608),
    GATEWAY_MAX_BODIES_BYTES: positiveInt.default(268_435_456),
    GATEWAY_REQUEST_TIMEOUT_MS: positiveInt.default(30_000),
    GATEWAY_SUBGRAPH_TIMEOUT_MS: positiveInt.default(30_000),
    GATEWAY_SUBGRAPH_CALLS: positiveInt.default(64),
    GATEWAY_SUBGRAPH_CALLS_PER_CLIENT: positiveInt.default(8),
    GATEWAY_SUBGRAPH_CALLS_PER_TENANT: positiveInt.default(16),
    GATEWAY_SUBGRAPH_WAITING_PER_CLIENT: positiveInt.default(500),
    GATEWAY_SUBGRAPH_WAITING_PER_TENANT: positiveInt.default(2_000),
    GATEWAY_MAX_ANSWER_BYTES: positiveInt.default(33_554_432),
    GATEWAY_MAX_ANSWERS_BYTES: positiveInt.default(268_435_456),
    GATEWAY_ANSWER_STALL_MS: positiveInt.default(60_000),
    GATEWAY_MAX_CONNECTIONS: positiveInt.default(15_000),
    GATEWAY_CONNECTIONS_PER_CLIENT: positiveInt.default(2_000),
    GATEWAY_MAX_SOCKETS: positiveInt.default(10_000),
    GATEWAY_SOCKETS_PER_CLIENT: positiveInt.default(1_000),
    GATEWAY_SOCKET_SUBSCRIPTIONS: positiveInt.default(50),
    GATEWAY_SOCKET_FRAME_BYTES: positiveInt.default(262_144),
    GATEWAY_SOCKET_MESSAGES_PER_SECOND: positiveInt.default(200),
    GATEWAY_SOCKET_UNSENT_BYTES: positiveInt.default(1_048_576),
    GATEWAY_SOCKET_INIT_TIMEOUT_MS: positiveInt.default(3_000),
    GATEWAY_SOCKET_PING_MS: positiveInt.default(12_000),
    GATEWAY_SOCKET_MAX_AGE_MS: positiveInt.default(24 * 60 * 60_000),
  });
  const tenantShare = {
    underWay: settings.GATEWAY_SUBGRAPH_CALLS_PER_TENANT,
    waiting: settings.GATEWAY_SUBGRAPH_WAITING_PER_TENANT,
  };
  return {
    port: settings.GATEWAY_PORT,
    opsPort: settings.GATEWAY_OPS_PORT,
    publicUrl: settings.PARLEY_PUBLIC_URL.replace(/\/$/, ''),
    avatarTokenKeys: settings.AVATAR_TOKEN_KEYS,
    trustedProxies: settings.TRUSTED_PROXIES,
    corsOrigins: settings.CORS_ORIGINS,
    introspection: settings.INTROSPECTION,
    explorer: development,
    maxTokens: settings.GATEWAY_MAX_TOKENS,
    maxDepth: settings.GATEWAY_MAX_DEPTH,
    maxComplexity: settings.GATEWAY_MAX_COMPLEXITY,
    maxSelections: settings.GATEWAY_MAX_SELECTIONS,
    maxBodyBytes: settings.GATEWAY_MAX_BODY_BYTES,
    maxLongBodyBytes: settings.GATEWAY_MAX_LONG_BODY_BYTES,
    maxBodiesBytes: settings.GATEWAY_MAX_BODIES_BYTES,
    requestTimeoutMs: settings.GATEWAY_REQUEST_TIMEOUT_MS,
    subgraphTimeoutMs: settings.GATEWAY_SUBGRAPH_TIMEOUT_MS,
    subgraphCalls: {
      underWay: settings.GATEWAY_SUBGRAPH_CALLS,
      shares: {
        address: {
          underWay: settings.GATEWAY_SUBGRAPH_CALLS_PER_CLIENT,
          waiting: settings.GATEWAY_SUBGRAPH_WAITING_PER_CLIENT,
        },
        tenant: tenantShare,
        user: tenantShare,
        anonymous: { ...tenantShare, whose: 'of callers who are not signed in' },
      },
    },
    subscriptionStarts: {
      limits: {
        underWay: settings.GATEWAY_SUBGRAPH_CALLS,
        shares: {
          // All sockets of a gateway that has stopped come to another at once, with what they are subscribed to.
          address: {
            underWay: settings.GATEWAY_SUBGRAPH_CALLS_PER_CLIENT,
            waiting: startsPerSocket * settings.GATEWAY_SOCKETS_PER_CLIENT,
          },
          tenant: {
            underWay: settings.GATEWAY_SUBGRAPH_CALLS_PER_TENANT,
            waiting: startsPerSocket * settings.GATEWAY_MAX_SOCKETS,
          },
        },
      },
      longestMs: 1_000,
    },
    maxAnswerBytes: settings.GATEWAY_MAX_ANSWER_BYTES,
    maxAnswersBytes: settings.GATEWAY_MAX_ANSWERS_BYTES,
    answerStallMs: settings.GATEWAY_ANSWER_STALL_MS,
    maxConnections: settings.GATEWAY_MAX_CONNECTIONS,
    maxConnectionsPerClient: settings.GATEWAY_CONNECTIONS_PER_CLIENT,
    maxSockets: settings.GATEWAY_MAX_SOCKETS,
    maxSocketsPerClient: settings.GATEWAY_SOCKETS_PER_CLIENT,
    socket: {
      maxSubscriptions: settings.GATEWAY_SOCKET_SUBSCRIPTIONS,
      maxFrameBytes: settings.GATEWAY_SOCKET_FRAME_BYTES,
      maxMessagesPerSecond: settings.GATEWAY_SOCKET_MESSAGES_PER_SECOND,
      maxUnsentBytes: settings.GATEWAY_SOCKET_UNSENT_BYTES,
      pingMs: settings.GATEWAY_SOCKET_PING_MS,
      initTimeoutMs: settings.GATEWAY_SOCKET_INIT_TIMEOUT_MS,
      maxAgeMs: settings.GATEWAY_SOCKET_MAX_AGE_MS,
    },
  };
}

function areCidrs(values: string[]): boolean {
  try {
    values.map(readNetwork);
    return true;
  } catch {
    return false;
  }
}

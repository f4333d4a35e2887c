import { type Environment, flag, httpUrl, list, port, positiveInt, readSettings } from '@parley/chassis/config';
import { type KeyRing, keyRing } from '@parley/chassis/key-ring';
import proxyAddr from 'proxy-addr';

export interface GatewayConfig {
  /** Where clients reach GraphQL over HTTP and WebSocket. */
  port: number;
  opsPort: number;
  /** The address that clients know: issuer and audience of access tokens. */
  publicUrl: string;
  /** What session tokens are verified with. */
  avatarTokenKeys: KeyRing;
  /** Proxies whose `X-Forwarded-For` is believed, as CIDRs. */
  trustedProxies: string[];
  /** Origins that browsers may call from; `*` for any, none for no browser of another origin. */
  corsOrigins: string[];
  introspection: boolean;
  /** Tokens of a document that the lexer reads before it refuses. */
  maxTokens: number;
  /** Bytes of a request's body; and of those that carry long texts, audio or images. */
  maxBodyBytes: number;
  maxLongBodyBytes: number;
  /** Bytes of a subgraph's answer. */
  maxAnswerBytes: number;
  /** Per socket. */
  socket: { maxSubscriptions: number; maxFrameBytes: number; initTimeoutMs: number; maxAgeMs: number };
}

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
    GATEWAY_MAX_BODY_BYTES: positiveInt.default(1_048_576),
    GATEWAY_MAX_LONG_BODY_BYTES: positiveInt.default(8_388_608),
    GATEWAY_MAX_ANSWER_BYTES: positiveInt.default(33_554_432),
    GATEWAY_SOCKET_SUBSCRIPTIONS: positiveInt.default(50),
    GATEWAY_SOCKET_FRAME_BYTES: positiveInt.default(262_144),
    GATEWAY_SOCKET_INIT_TIMEOUT_MS: positiveInt.default(3_000),
    GATEWAY_SOCKET_MAX_AGE_MS: positiveInt.default(24 * 60 * 60_000),
  });
  return {
    port: settings.GATEWAY_PORT,
    opsPort: settings.GATEWAY_OPS_PORT,
    publicUrl: settings.PARLEY_PUBLIC_URL.replace(/\/$/, ''),
    avatarTokenKeys: settings.AVATAR_TOKEN_KEYS,
    trustedProxies: settings.TRUSTED_PROXIES,
    corsOrigins: settings.CORS_ORIGINS,
    introspection: settings.INTROSPECTION,
    maxTokens: settings.GATEWAY_MAX_TOKENS,
    maxBodyBytes: settings.GATEWAY_MAX_BODY_BYTES,
    maxLongBodyBytes: settings.GATEWAY_MAX_LONG_BODY_BYTES,
    maxAnswerBytes: settings.GATEWAY_MAX_ANSWER_BYTES,
    socket: {
      maxSubscriptions: settings.GATEWAY_SOCKET_SUBSCRIPTIONS,
      maxFrameBytes: settings.GATEWAY_SOCKET_FRAME_BYTES,
      initTimeoutMs: settings.GATEWAY_SOCKET_INIT_TIMEOUT_MS,
      maxAgeMs: settings.GATEWAY_SOCKET_MAX_AGE_MS,
    },
  };
}

function areCidrs(values: string[]): boolean {
  try {
    proxyAddr.compile(values);
    return true;
  } catch {
    return false;
  }
}

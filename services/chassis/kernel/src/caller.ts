import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import { type DomainError, forbidden, unauthenticated } from './errors.ts';

/**
 * The caller of an operation. The gateway derives it from a credential; a service that acts on its own (a turn, an event) creates one.
 * Services base authorization only on the caller.
 */
export interface Caller {
  /** `anonymous`: a public operation. `service`: a unit on its own behalf. `operator`: a person who runs the platform. */
  kind: 'anonymous' | 'user' | 'apiKey' | 'session' | 'service' | 'operator';
  /** The tenant in use; null for anonymous callers and for users without a tenant. */
  tenantId: number | null;
  /** The user's id; kind `user` only. */
  userId?: number;
  /** For audit logs: the username of a `user`, or the full name of a `user` without a username; the self-chosen name of an `operator`. */
  displayName?: string;
  /** kind `user` only: the `sid` of the access token. */
  signInId?: string;
  /** The API key's id; kind `apiKey` only. */
  apiKeyId?: number;
  /** kind `session` only: the one session that the token is bound to. */
  sessionId?: number;
  /** kind `service` only: the unit's name. */
  service?: string;
  /** The client's address, if a client caused the call. */
  ip?: string;
  /**
   * Derived from the `Idempotency-Key` of the request: the same in all retries of the request, different for any other request. Each field
   * of the request commits its effect under a key derived from this one (`effectKey` of `CallerRequest`).
   */
  idempotencyKey?: string;
  requestId: string;
}

export type TenantCaller = Caller & { tenantId: number };

/** The HTTP header and gRPC metadata key of the signed caller. */
export const callerHeader = 'x-parley-caller';

/** How long a minted caller is valid. A stream is verified once, when it opens. */
const lifetimeSeconds = 60;
const leewaySeconds = 5;

export type Callers = ReturnType<typeof createCallers>;

interface Claims {
  caller: Caller;
  /** When the caller was signed, in seconds since 1970. */
  iat: number;
  exp: number;
  aud: string;
}

/** Tokens must have exactly this header, so that a token cannot choose its algorithm. */
const header = encode({ alg: 'HS256' });
const macBytes = 32;

/**
 * Signs and verifies callers as JWS with HS256. The shared keys are those of the mesh (`MESH_KEY`) or of operators: the first key signs,
 * all keys verify.
 *
 * Uses synchronous `node:crypto`, because every call of the mesh signs and verifies. JWT libraries use Web Crypto, whose thread pool costs
 * several times as much as the MAC itself.
 */
export function createCallers(
  sharedKeys: Uint8Array | readonly Uint8Array[],
  now: () => number = Date.now,
  refusal = 'This port takes calls from the mesh only',
) {
  // The keys are created once, because creating keys from bytes for each MAC costs five times the MAC.
  const keys = (sharedKeys instanceof Uint8Array ? [sharedKeys] : sharedKeys).map((key) => createSecretKey(key));
  const [signing] = keys;
  if (!signing) throw new TypeError('no key signs callers');
  const secondsNow = () => Math.floor(now() / 1000);
  const macBy = (key: KeyObject, signed: string) => createHmac('sha256', key).update(signed).digest();

  /** Returns the claims; undefined if the MAC is wrong. The payload is parsed only after this check. */
  function authentic(token: string): Claims | undefined {
    const [given, payload = '', mac = '', ...more] = token.split('.');
    if (given !== header || more.length > 0) return undefined;
    const bytes = Buffer.from(mac, 'base64url');
    if (bytes.length !== macBytes) return undefined;
    if (!keys.some((key) => timingSafeEqual(bytes, macBy(key, `${header}.${payload}`)))) return undefined;
    return JSON.parse(Buffer.from(payload, 'base64url').toString());
  }

  return {
    /** Signs `caller` for one audience (a unit's name). Mint a token for each call; a received token is never forwarded. */
    async mint(caller: Caller, audience: string): Promise<string> {
      const iat = secondsNow();
      const claims: Claims = { caller, iat, exp: iat + lifetimeSeconds, aud: audience };
      const signed = `${header}.${encode(claims)}`;
      return `${signed}.${macBy(signing, signed).toString('base64url')}`;
    },

    /**
     * Returns the caller of a valid token.
     * @throws DomainError `unauthenticated` when the token is missing, malformed, expired, signed with another key or for another audience.
     */
    async verify(token: string | null | undefined, audience: string): Promise<Caller> {
      const claims = token ? authentic(token) : undefined;
      if (claims?.aud !== audience || !isTimely(claims, secondsNow())) {
        throw unauthenticated(refusal);
      }
      return claims.caller;
    },
  };
}

/** Reports whether the claims are valid now. False also for NaN and undefined, because every comparison must be true. */
function isTimely({ iat, exp }: Claims, now: number): boolean {
  return now - leewaySeconds < exp && now - leewaySeconds <= iat + lifetimeSeconds && now + leewaySeconds >= iat;
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

export function serviceCaller(service: string, tenantId: number | null, requestId: string): Caller {
  return { kind: 'service', service, tenantId, requestId };
}

/**
 * Returns the caller as one with a tenant.
 * @throws DomainError `forbidden` with reason `NO_TENANT` when the caller is in no tenant.
 */
export function inTenant(caller: Caller): TenantCaller {
  if (caller.tenantId === null) throw inNoTenant();
  return caller as TenantCaller;
}

/** Makes the error of `inTenant`; also used for a deleted tenant or an ended membership. */
export function inNoTenant(): DomainError {
  return forbidden('You belong to no tenant yet; create or choose one', 'NO_TENANT');
}

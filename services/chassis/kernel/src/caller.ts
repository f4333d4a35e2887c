import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';
import { forbidden, unauthenticated } from './errors.ts';

/**
 * Who is asking. The gateway makes it from a credential; a service that goes on by itself (a turn, an event) makes one of its
 * own. Services believe this and nothing else.
 */
export interface Caller {
  /** `anonymous`: a public operation. `service`: a part of the mesh on its own behalf. */
  kind: 'anonymous' | 'user' | 'apiKey' | 'session' | 'service';
  /** The tenant in use; null for anonymous callers and for users without one. */
  tenantId: number | null;
  /** kind `user` only. */
  userId?: number;
  /** kind `user` only: the username, else the full name. What audit logs show. */
  displayName?: string;
  /** kind `user` only: the `sid` of the access token. */
  signInId?: string;
  /** kind `apiKey` only. */
  apiKeyId?: number;
  /** kind `session` only: the one session that the token is bound to. */
  sessionId?: number;
  /** kind `service` only: the unit's name. */
  service?: string;
  /** The client's address, where a client is behind the call. */
  ip?: string;
  /** The id of the request in logs and traces. */
  requestId: string;
}

/** A caller of a kind that always has a tenant, or a user who is in one. */
export type TenantCaller = Caller & { tenantId: number };

/** Names under which a caller travels. */
export const callerHeader = 'x-parley-caller';

/** How long a minted caller is good for. A stream is checked once, when it opens. */
const lifetimeSeconds = 60;
const leewaySeconds = 5;

export interface Callers {
  /** Signs `caller` for one audience (a unit's name). Mint anew for each call: a received one is never forwarded. */
  mint(caller: Caller, audience: string): Promise<string>;
  /** @throws DomainError `unauthenticated` when the token is missing, malformed, expired, foreign or for someone else. */
  verify(token: string | null | undefined, audience: string): Promise<Caller>;
}

interface Claims {
  caller: Caller;
  /** Seconds since 1970. */
  iat: number;
  exp: number;
  aud: string;
}

/** The one header that there is, so that nothing in a token chooses an algorithm. */
const header = encode({ alg: 'HS256' });
const macBytes = 32;

/**
 * Signs and verifies callers with the mesh's shared key (`MESH_KEY`): JWS, HS256. Done by `node:crypto` on the spot: each
 * call of the mesh does both, and the Web Crypto that JWT libraries use takes several times as long to go to a thread and
 * back as the MAC takes to compute.
 */
export function createCallers(meshKey: Uint8Array): Callers {
  const key = createSecretKey(meshKey); // made once: bytes would be made into one for every MAC, at five times its cost
  const macOf = (signed: string) => createHmac('sha256', key).update(signed).digest();

  /** Undefined unless the token was made with the key. Nothing in it is read before that is known. */
  function authentic(token: string): Claims | undefined {
    const [given, payload = '', mac = '', ...more] = token.split('.');
    if (given !== header || more.length > 0) return undefined;
    const bytes = Buffer.from(mac, 'base64url');
    if (bytes.length !== macBytes || !timingSafeEqual(bytes, macOf(`${header}.${payload}`))) return undefined;
    return JSON.parse(Buffer.from(payload, 'base64url').toString());
  }

  return {
    async mint(caller, audience) {
      const iat = secondsNow();
      const claims: Claims = { caller, iat, exp: iat + lifetimeSeconds, aud: audience };
      const signed = `${header}.${encode(claims)}`;
      return `${signed}.${macOf(signed).toString('base64url')}`;
    },

    async verify(token, audience) {
      const claims = token ? authentic(token) : undefined;
      if (claims?.aud !== audience || !isTimely(claims)) {
        throw unauthenticated('This port takes calls from the mesh only');
      }
      return claims.caller;
    },
  };
}

/** Asked so that what is no number is not timely either. */
function isTimely({ iat, exp }: Claims): boolean {
  const now = secondsNow();
  return now - leewaySeconds < exp && now - leewaySeconds <= iat + lifetimeSeconds && now + leewaySeconds >= iat;
}

function secondsNow(): number {
  return Math.floor(Date.now() / 1000);
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** A unit on its own behalf, for one tenant. */
export function serviceCaller(service: string, tenantId: number | null, requestId: string): Caller {
  return { kind: 'service', service, tenantId, requestId };
}

/** @throws DomainError `forbidden` with reason `NO_TENANT` when the caller is in no tenant. */
export function inTenant(caller: Caller): TenantCaller {
  if (caller.tenantId === null) throw forbidden('You belong to no tenant yet; create or choose one', 'NO_TENANT');
  return caller as TenantCaller;
}

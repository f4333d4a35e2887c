import { errors as joseErrors, jwtVerify, SignJWT } from 'jose';
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

/** Signs and verifies callers with the mesh's shared key (`MESH_KEY`). */
export function createCallers(meshKey: Uint8Array): Callers {
  return {
    mint: (caller, audience) =>
      new SignJWT({ caller })
        .setProtectedHeader({ alg: 'HS256' })
        .setIssuedAt()
        .setExpirationTime(`${lifetimeSeconds}s`)
        .setAudience(audience)
        .sign(meshKey),

    async verify(token, audience) {
      if (!token) throw unauthenticated('This port takes calls from the mesh only');
      try {
        const { payload } = await jwtVerify<{ caller: Caller }>(token, meshKey, {
          algorithms: ['HS256'],
          audience,
          clockTolerance: leewaySeconds,
          maxTokenAge: lifetimeSeconds,
        });
        return payload.caller;
      } catch (error) {
        if (error instanceof joseErrors.JOSEError) throw unauthenticated('This port takes calls from the mesh only');
        throw error;
      }
    },
  };
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

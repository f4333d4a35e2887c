import { createHash } from 'node:crypto';
import type { Caller } from '@parley/kernel/caller';
import { unauthenticated } from '@parley/kernel/errors';
import type { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import type { RpcClient } from '@parley/rpc/client';
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTPayload, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import { atMost } from './at-most.ts';

export interface AccessToken {
  signInId: string;
  /** When the token expires, in milliseconds since the epoch. */
  endsAtMs: number;
}

export interface AccessTokens {
  /**
   * @throws DomainError `unauthenticated` if the token is not accepted, always with the same message; `unavailable` if no key set can be
   * fetched.
   */
  verify(token: string): Promise<AccessToken>;
  jwks(): Promise<JSONWebKeySet>;
}

interface KeySet {
  jwks: JSONWebKeySet;
  find: ReturnType<typeof createLocalJWKSet>;
  readAtMs: number;
}

/** A key set is cached for `jwksAgeMs`. An unknown key id triggers a fetch, at most once per `unknownKeyPauseMs`. */
const jwksAgeMs = 300_000;
const unknownKeyPauseMs = 1_000;

/** Caches verified signatures by token hash; whether the sign-in is still valid is checked for each request. */
export function accessTokens(
  identity: () => RpcClient<typeof IdentityServiceDefinition>,
  issuer: string,
  entries = 20_000,
): AccessTokens {
  const verified = new LRUCache<string, AccessToken>(atMost(entries));
  let keySet: KeySet | undefined;
  let reading: Promise<KeySet> | undefined;

  async function keys(maxAgeMs = jwksAgeMs): Promise<KeySet> {
    const kept = keySet;
    if (kept && performance.now() - kept.readAtMs < maxAgeMs) return kept;
    reading ??= read().finally(() => {
      reading = undefined;
    });
    // An old key set is better than none while identity is unavailable.
    return kept ? reading.catch(() => kept) : reading;
  }

  async function read(): Promise<KeySet> {
    const caller: Caller = { kind: 'service', service: 'gateway', tenantId: null, requestId: 'jwks' };
    const { jwksJson } = await identity().getJwks({}, { caller });
    const jwks = JSON.parse(jwksJson) as JSONWebKeySet;
    keySet = { jwks, find: createLocalJWKSet(jwks), readAtMs: performance.now() };
    return keySet;
  }

  async function payloadOf(token: string): Promise<JWTPayload> {
    const options = { algorithms: ['ES256'], issuer, audience: issuer, requiredClaims: ['sub', 'sid', 'exp', 'jti'] };
    try {
      return (await jwtVerify(token, (await keys()).find, options)).payload;
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      return (await jwtVerify(token, (await keys(unknownKeyPauseMs)).find, options)).payload;
    }
  }

  return {
    jwks: async () => (await keys()).jwks,
    async verify(token) {
      // base64url can spell the same last byte in several ways; identity issues only the canonical spelling.
      if (token.length > 4_096 || !isCanonical(token)) throw unauthenticated('Invalid or expired access token');
      const hash = createHash('sha256').update(token).digest('base64url');
      const known = verified.get(hash);
      if (known && known.endsAtMs > Date.now()) return known;
      try {
        const { sid, exp } = await payloadOf(token);
        const access = { signInId: String(sid), endsAtMs: Number(exp) * 1000 };
        verified.set(hash, access);
        return access;
      } catch (error) {
        if (error instanceof errors.JOSEError) throw unauthenticated('Invalid or expired access token');
        throw error;
      }
    },
  };
}

function isCanonical(token: string): boolean {
  return token.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part);
}

import type { Caller } from '@parley/chassis/caller';
import { isDomainError, unauthenticated } from '@parley/chassis/errors';
import type { RpcClient } from '@parley/chassis/rpc/client';
import type { IdentityServiceDefinition, ResolveSignInResponse } from '@parley/protos/parley/identity/v1/identity';
import { LRUCache } from 'lru-cache';

export interface SignIns {
  /** The state of a sign-in, at most a second old. @throws DomainError `unauthenticated` when it is revoked or unknown. */
  resolve(signInId: string, requestId: string): Promise<ResolveSignInResponse>;
  /** Forgets everything: the next request asks identity. */
  forget(): void;
}

/** How long an answer of identity is believed, should an announcement be lost. */
const rememberMs = 1_000;

/** Asks identity about sign-ins, once a second and sign-in, however many requests carry it. */
export function signIns(identity: () => RpcClient<typeof IdentityServiceDefinition>): SignIns {
  const cache = new LRUCache<string, Promise<ResolveSignInResponse>>({ max: 20_000, ttl: rememberMs });

  async function ask(signInId: string, requestId: string): Promise<ResolveSignInResponse> {
    const caller: Caller = { kind: 'service', service: 'gateway', tenantId: null, requestId };
    try {
      return await identity().resolveSignIn({ signInId }, { caller, passOn: ['notFound'] });
    } catch (error) {
      if (isDomainError(error, 'notFound')) throw unauthenticated('Invalid or expired access token');
      throw error;
    }
  }

  return {
    resolve(signInId, requestId) {
      const known = cache.get(signInId);
      if (known) return known;
      // The promise itself is kept, so that one that began before `forget` is never remembered after it.
      const asked = ask(signInId, requestId);
      cache.set(signInId, asked);
      asked.catch(() => {
        if (cache.peek(signInId) === asked) cache.delete(signInId);
      });
      return asked;
    },
    forget: () => cache.clear(),
  };
}

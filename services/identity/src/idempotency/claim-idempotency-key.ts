import { createHash } from 'node:crypto';
import type { Caller } from '@parley/kernel/caller';
import type { CallerRequest } from '@parley/kernel/caller-request';
import { badRequest, forbidden, invalid } from '@parley/kernel/errors';
import { idempotencyKeyProblem, keyInProgress } from '@parley/kernel/idempotency';
import { noTenant } from '@parley/postgres/database/identifiers';
import type { SharedDb } from '@parley/postgres/database/types';
import type { ClaimIdempotencyKeyRequest } from '@parley/protos/parley/identity/v1/identity';
import type { Ports } from '../ports.ts';
import { idempotencyStore, type KeyScope, type NewClaim } from './idempotency-store.ts';

/**
 * Claims a key for a request, or returns the stored result.
 * @throws DomainError `invalid` if the key is malformed, or with `IDEMPOTENCY_KEY_REUSED` if it belongs to another request
 * @throws DomainError `conflict` if another claim holds the lease
 * @throws DomainError `forbidden` if the caller is no sign-in, API key or session
 */
export async function claimIdempotencyKey(
  { database, keys, box, settings }: Ports,
  { caller }: CallerRequest,
  { key, requestSha256, claimId, inAnyTenant }: ClaimIdempotencyKeyRequest,
) {
  const problem = idempotencyKeyProblem(key);
  if (problem) throw invalid({ path: 'Idempotency-Key', message: problem });
  const scope = scopeOf(caller, key, inAnyTenant);
  const other = scopeOf(caller, key, !inAnyTenant);
  const alsoUsedIn = caller.kind === 'user' && other.tenantId !== scope.tenantId ? other : undefined;
  // The hash is keyed, because the request may contain a password or code that could be guessed from a plain hash.
  const requestHmac = await keys.hmac('idempotent-request', Buffer.from(requestSha256).toString('hex'));
  const claim = { ...scope, requestHmac, claimId, leaseMs: settings.idempotencyLeaseMs };
  const { useId, resultSealed } = await database.transactShared((db) => claimOrFind(db, claim, alsoUsedIn));
  return { useId, result: resultSealed ? box.open(resultSealed, sealingContextOf(scope)) : undefined };
}

/**
 * Claims a key or finds its stored result.
 * @param alsoUsedIn a second scope in which the key must be unused: all tenants of the sign-in, or its current tenant
 */
async function claimOrFind(
  db: SharedDb,
  claim: NewClaim,
  alsoUsedIn: KeyScope | undefined,
): Promise<{ useId: string; resultSealed: Buffer | null }> {
  const store = idempotencyStore(db);
  if (alsoUsedIn) await store.lockKey(claim);
  const useId = await store.claim(claim);
  if (useId !== undefined && alsoUsedIn && (await store.isUsed(alsoUsedIn))) throw keyReused();
  if (useId !== undefined) return { useId, resultSealed: null };
  const used = await store.find(claim);
  if (used && !used.requestHmac.equals(claim.requestHmac)) throw keyReused();
  if (!used?.resultSealed) throw keyInProgress();
  return used;
}

function keyReused() {
  return badRequest('This Idempotency-Key was used for another request', 'IDEMPOTENCY_KEY_REUSED');
}

function scopeOf(caller: Caller, key: string, inAnyTenant: boolean): KeyScope {
  return {
    tenantId: inAnyTenant ? noTenant : (caller.tenantId ?? noTenant),
    caller: nameOf(caller),
    keySha256: createHash('sha256').update(key).digest(),
  };
}

function nameOf({ kind, signInId, apiKeyId, sessionId }: Caller): string {
  if (kind === 'user' && signInId !== undefined) return `sign-in ${signInId}`;
  if (kind === 'apiKey' && apiKeyId !== undefined) return `API key ${apiKeyId}`;
  if (kind === 'session' && sessionId !== undefined) return `session ${sessionId}`;
  throw forbidden('An Idempotency-Key belongs to a sign-in, an API key or a session');
}

/**
 * Returns the additional authenticated data (AAD) of a sealed result: after a copy to the row of another caller or key,
 * the result cannot be decrypted.
 */
export function sealingContextOf({ tenantId, caller, keySha256 }: KeyScope): string {
  return `identity.idempotency_keys.result:${tenantId} ${caller} ${keySha256.toString('hex')}`;
}

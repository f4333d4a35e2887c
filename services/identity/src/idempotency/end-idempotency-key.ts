import type { EndIdempotencyKeyRequest } from '@parley/protos/parley/identity/v1/identity';
import type { Ports } from '../ports.ts';
import { sealingContextOf } from './claim-idempotency-key.ts';
import { idempotencyStore } from './idempotency-store.ts';
import { holderOf, idempotencyUsageStore } from './idempotency-usage-store.ts';

/**
 * Stores the encrypted result for retries, or a placeholder if the tenant's quota of bytes is used up. Without a result, the next retry
 * runs the request. Does nothing if the key has been claimed again.
 */
export async function endIdempotencyKey(
  { database, box, settings }: Ports,
  { useId, claimId, result, resultInPlace = result }: EndIdempotencyKeyRequest,
): Promise<void> {
  await database.transactShared(async (db) => {
    const store = idempotencyStore(db);
    const usage = idempotencyUsageStore(db);
    const locked = await store.lock({ useId, claimId });
    if (!locked) return;
    const holder = holderOf(locked);
    await usage.subtract(holder, locked.countedBytes);
    if (!result || !resultInPlace) return store.end(useId, null, 0);
    const seal = (kept: Buffer) => box.seal(kept, sealingContextOf(locked));
    const sealed = seal(result);
    const isCounted = await usage.add(holder, sealed.length, settings.idempotencyBytesPerTenant);
    if (isCounted) await store.end(useId, sealed, sealed.length);
    else await store.end(useId, seal(resultInPlace), 0);
  });
}

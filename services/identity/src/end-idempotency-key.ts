import type { EndIdempotencyKeyRequest } from '@parley/protos/parley/identity/v1/identity';
import { sealingContextOf } from './claim-idempotency-key.ts';
import { idempotencyStore } from './idempotency-store.ts';
import type { Ports } from './ports.ts';

/** Keeps the result, encrypted, for the retries; without one the next of them runs. Does nothing where another claim has followed. */
export async function endIdempotencyKey(
  { database, box }: Ports,
  { useId, claimId, result }: EndIdempotencyKeyRequest,
): Promise<void> {
  await database.transactShared(async (db) => {
    const store = idempotencyStore(db);
    const scope = await store.lock({ useId, claimId });
    if (!scope) return;
    await store.end(useId, result ? box.seal(result, sealingContextOf(scope)) : null);
  });
}

import type { Ports } from '../ports.ts';
import { type Claim, idempotencyStore } from './idempotency-store.ts';

/** Does nothing where the lease has ended: whoever claims the key next may have begun. */
export async function renewIdempotencyKey({ database, settings }: Ports, claim: Claim): Promise<void> {
  await database.transactShared((db) => idempotencyStore(db).renew(claim, settings.idempotencyLeaseMs));
}

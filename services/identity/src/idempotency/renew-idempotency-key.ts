import type { Ports } from '../ports.ts';
import { type Claim, idempotencyStore } from './idempotency-store.ts';

/** Renews the lease of a claim. Does nothing once the lease has expired, because the next claim may have started. */
export async function renewIdempotencyKey({ database, settings }: Ports, claim: Claim): Promise<void> {
  await database.transactShared((db) => idempotencyStore(db).renew(claim, settings.idempotencyLeaseMs));
}

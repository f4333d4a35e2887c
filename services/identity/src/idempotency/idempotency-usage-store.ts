import { noTenant } from '@parley/postgres/database/identifiers';
import { rowsBy } from '@parley/postgres/database/rows';
import type { SharedDb } from '@parley/postgres/database/types';
import type { KeyScope } from './idempotency-store.ts';

/** Returns the holder whose quota a stored result counts against: the tenant, or the caller if there is no tenant. */
export function holderOf({ tenantId, caller }: Pick<KeyScope, 'tenantId' | 'caller'>): string {
  return tenantId === noTenant ? caller : `tenant ${tenantId}`;
}

/**
 * Counts the bytes of stored results per holder. A transaction that changes several holders does so in the order of
 * their names, to prevent deadlocks.
 */
export function idempotencyUsageStore({ knex }: SharedDb) {
  const rows = rowsBy(knex);
  return {
    /**
     * Adds bytes.
     * @returns false if the holder would exceed `limit`; then nothing is added
     */
    async add(holder: string, bytes: number, limit: number): Promise<boolean> {
      const added = await rows(
        `INSERT INTO idempotency_usage AS known (holder, kept_bytes)
         SELECT :holder, :bytes WHERE cast(:bytes AS bigint) <= cast(:limit AS bigint)
         ON CONFLICT (holder) DO UPDATE SET kept_bytes = known.kept_bytes + excluded.kept_bytes
           WHERE known.kept_bytes + excluded.kept_bytes <= cast(:limit AS bigint)
         RETURNING holder`,
        { holder, bytes, limit },
      );
      return added.length > 0;
    },

    async subtract(holder: string, bytes: number): Promise<void> {
      if (bytes === 0) return;
      await rows('UPDATE idempotency_usage SET kept_bytes = kept_bytes - :bytes WHERE holder = :holder', {
        holder,
        bytes,
      });
      await rows('DELETE FROM idempotency_usage WHERE holder = :holder AND kept_bytes <= 0', { holder });
    },

    async removeOfTenant(tenantId: number): Promise<void> {
      await rows('DELETE FROM idempotency_usage WHERE holder = :holder', {
        holder: holderOf({ tenantId, caller: '' }),
      });
    },
  };
}

import { rowsBy } from '@parley/postgres/database/rows';
import type { SharedDb } from '@parley/postgres/database/types';

export interface KeyScope {
  tenantId: number;
  caller: string;
  keySha256: Buffer;
}

export interface NewClaim extends KeyScope {
  requestHmac: Buffer;
  claimId: string;
  leaseMs: number;
}

export interface Claim {
  useId: string;
  claimId: string;
}

export interface UsedKey {
  useId: string;
  requestHmac: Buffer;
  resultSealed: Buffer | null;
}

export interface CountedKey extends Pick<KeyScope, 'tenantId' | 'caller'> {
  /** Bytes that the result adds to its holder's usage. */
  countedBytes: number;
}

type LockedClaim = KeyScope & CountedKey;

const validFor = `interval '24 hours'`;
const hasExpired = (key: string) => `${key}.expires_at <= parley_now() AND ${key}.lease_until <= parley_now()`;
const newLease = `parley_now() + cast(:leaseMs AS integer) * interval '1 ms'`;

export function idempotencyStore({ knex }: SharedDb) {
  const rows = rowsBy(knex);

  return {
    /** Blocks other claims of the key by this caller, in any tenant, until the commit. */
    async lockKey({ caller, keySha256 }: Pick<KeyScope, 'caller' | 'keySha256'>): Promise<void> {
      const key = keySha256.readInt32BE(0);
      await rows(`SELECT pg_advisory_xact_lock(hashtext(current_schema() || '.idempotency_keys ' || :caller), :key)`, {
        caller,
        key,
      });
    },

    /**
     * Claims a key.
     * @returns an id of this use of the key; undefined if the key has a result, belongs to another request, or is
     * leased by another claim
     */
    async claim(claim: NewClaim): Promise<string | undefined> {
      const [claimed] = await rows<{ useId: string }>(
        `INSERT INTO idempotency_keys AS known
           (id, tenant_id, caller, key_sha256, request_hmac, claim_id, lease_until, expires_at)
         VALUES (gen_random_uuid(), :tenantId, :caller, :keySha256, :requestHmac, cast(:claimId AS uuid), ${newLease},
                 parley_now() + ${validFor})
         ON CONFLICT (tenant_id, caller, key_sha256) DO UPDATE SET
           id = CASE WHEN ${hasExpired('known')} THEN excluded.id ELSE known.id END,
           expires_at = CASE WHEN ${hasExpired('known')} THEN excluded.expires_at ELSE known.expires_at END,
           request_hmac = excluded.request_hmac, claim_id = excluded.claim_id, lease_until = excluded.lease_until,
           result_sealed = NULL
         WHERE (${hasExpired('known')})
            OR (known.result_sealed IS NULL AND known.request_hmac = excluded.request_hmac
                AND (known.lease_until <= parley_now() OR known.claim_id = excluded.claim_id))
         RETURNING id AS use_id`,
        { ...claim },
      );
      return claimed?.useId;
    },

    async find({ tenantId, caller, keySha256 }: KeyScope): Promise<UsedKey | undefined> {
      return knex('idempotency_keys')
        .where({ tenantId, caller, keySha256 })
        .first({ useId: 'id', requestHmac: 'requestHmac', resultSealed: 'resultSealed' });
    },

    /** Reports whether the key was claimed in the last 24 hours. */
    async isUsed({ tenantId, caller, keySha256 }: KeyScope): Promise<boolean> {
      const isLive = knex.raw(`NOT (${hasExpired('idempotency_keys')})`);
      return (
        (await knex('idempotency_keys').where({ tenantId, caller, keySha256 }).where(isLive).first('id')) !== undefined
      );
    },

    async renew({ useId, claimId }: Claim, leaseMs: number): Promise<void> {
      await rows(
        `UPDATE idempotency_keys SET lease_until = ${newLease}
          WHERE id = cast(:useId AS uuid) AND claim_id = cast(:claimId AS uuid) AND result_sealed IS NULL
            AND lease_until > parley_now()`,
        { useId, claimId, leaseMs },
      );
    },

    /** Locks a claim that has no result. Returns undefined if the key has been claimed again. */
    async lock({ useId, claimId }: Claim): Promise<LockedClaim | undefined> {
      const [locked] = await rows<LockedClaim>(
        `SELECT tenant_id, caller, key_sha256, counted_bytes FROM idempotency_keys
          WHERE id = cast(:useId AS uuid) AND claim_id = cast(:claimId AS uuid) AND result_sealed IS NULL FOR UPDATE`,
        { useId, claimId },
      );
      return locked;
    },

    /**
     * Ends a claim, even if its lease has expired. With a result, later claims return the result, which is valid for 24 hours from now.
     * Without a result, the next claim runs the request.
     */
    async end(useId: string, resultSealed: Buffer | null, countedBytes: number): Promise<void> {
      await rows(
        `UPDATE idempotency_keys
            SET lease_until = parley_now(), result_sealed = cast(:resultSealed AS bytea), counted_bytes = :countedBytes,
                expires_at = CASE WHEN cast(:resultSealed AS bytea) IS NULL THEN expires_at ELSE parley_now() + ${validFor} END
          WHERE id = cast(:useId AS uuid)`,
        { useId, resultSealed, countedBytes },
      );
    },

    /** Deletes a batch of expired keys. @returns the holder and counted bytes of each */
    async removeExpired(limit: number): Promise<CountedKey[]> {
      return rows<CountedKey>(
        `DELETE FROM idempotency_keys WHERE id = ANY (ARRAY (
           SELECT id FROM idempotency_keys AS known WHERE ${hasExpired('known')}
            ORDER BY expires_at LIMIT :limit FOR UPDATE SKIP LOCKED))
         RETURNING tenant_id, caller, counted_bytes`,
        { limit },
      );
    },

    async removeOfTenant(tenantId: number): Promise<void> {
      await rows('DELETE FROM idempotency_keys WHERE tenant_id = :tenantId', { tenantId });
    },
  };
}

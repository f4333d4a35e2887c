import { rowsBy } from '@parley/postgres/database/rows';
import type { TenantDb } from '@parley/postgres/database/types';

/**
 * The result of claiming a generation. `callId`: this process makes the generation. `answerSealed`: the answer is
 * already stored. Neither is set while another process makes the generation.
 */
export interface TakenGeneration {
  callId?: string;
  answerSealed?: Buffer;
}

interface Held {
  key: string;
  /** Identifies one attempt. An attempt whose lease was taken over can no longer write. */
  claimId: string;
}

const newLease = `parley_now() + cast(:leaseMs AS integer) * interval '1 ms'`;

export function keptGenerationStore({ knex, tenantId }: TenantDb) {
  const rows = rowsBy(knex);
  return {
    /**
     * Claims a generation. If the lease of an earlier attempt has expired, the generation is made again under a new call id. The provider
     * may bill the call of the earlier attempt too, and the ledger settles that call at its estimate.
     */
    async take({ key, callId, claimId }: Held & { callId: string }, leaseMs: number): Promise<TakenGeneration> {
      const [taken] = await rows<{ callId: string }>(
        `INSERT INTO kept_generations AS known (tenant_id, key, call_id, claim_id, lease_until)
         VALUES (:tenantId, :key, :callId, cast(:claimId AS uuid), ${newLease})
         ON CONFLICT (tenant_id, key) DO UPDATE
           SET lease_until = excluded.lease_until, claim_id = excluded.claim_id, call_id = excluded.call_id
           WHERE known.answer_sealed IS NULL AND known.lease_until <= parley_now()
         RETURNING call_id`,
        { tenantId, key, callId, claimId, leaseMs },
      );
      if (taken) return taken;
      const [made] = await rows<{ callId: string; answerSealed: Buffer | null }>(
        'SELECT call_id, answer_sealed FROM kept_generations WHERE tenant_id = :tenantId AND key = :key',
        { tenantId, key },
      );
      return made?.answerSealed ? { callId: made.callId, answerSealed: made.answerSealed } : {};
    },

    async renew({ key, claimId }: Held, leaseMs: number): Promise<void> {
      await rows(
        `UPDATE kept_generations SET lease_until = ${newLease}
          WHERE tenant_id = :tenantId AND key = :key AND claim_id = cast(:claimId AS uuid) AND answer_sealed IS NULL
            AND lease_until > parley_now()`,
        { tenantId, key, claimId, leaseMs },
      );
    },

    async keep({ key, claimId }: Held, answerSealed: Buffer): Promise<void> {
      await rows(
        `UPDATE kept_generations SET answer_sealed = :answerSealed
          WHERE tenant_id = :tenantId AND key = :key AND claim_id = cast(:claimId AS uuid) AND answer_sealed IS NULL`,
        { tenantId, key, claimId, answerSealed },
      );
    },

    /** Deletes a failed attempt; a retry is a new call. */
    async drop({ key, claimId }: Held): Promise<void> {
      await rows(
        `DELETE FROM kept_generations
          WHERE tenant_id = :tenantId AND key = :key AND claim_id = cast(:claimId AS uuid) AND answer_sealed IS NULL`,
        { tenantId, key, claimId },
      );
    },
  };
}

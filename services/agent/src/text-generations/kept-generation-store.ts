import { rowsBy } from '@parley/postgres/database/rows';
import type { TenantDb } from '@parley/postgres/database/types';

/** A generation that is this process's to make, under a call id, or its answer; neither while another process makes it. */
export interface TakenGeneration {
  callId?: string;
  answerSealed?: Buffer;
}

interface Held {
  key: string;
  /** Of one attempt: who lost its lease to another changes nothing any more. */
  claimId: string;
}

const newLease = `parley_now() + cast(:leaseMs AS integer) * interval '1 ms'`;

export function keptGenerationStore({ knex, tenantId }: TenantDb) {
  const rows = rowsBy(knex);
  return {
    /**
     * One whose lease has ended is made again under the call id that is given: its provider may bill what a dead process had begun, which
     * the ledger settles at its estimate.
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

    /** Of one that failed: the next is another call. */
    async drop({ key, claimId }: Held): Promise<void> {
      await rows(
        `DELETE FROM kept_generations
          WHERE tenant_id = :tenantId AND key = :key AND claim_id = cast(:claimId AS uuid) AND answer_sealed IS NULL`,
        { tenantId, key, claimId },
      );
    },
  };
}

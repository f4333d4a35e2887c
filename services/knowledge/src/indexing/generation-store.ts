import { notFound, unavailable } from '@parley/kernel/errors';
import { rowsBy } from '@parley/postgres/database/rows';
import type { TenantDb } from '@parley/postgres/database/types';

/** A generation of chunks is swept if its builder has not renewed it for this long. */
const silentMinutes = 15;

/** Generations of chunks that are not searched: still being built, or waiting for the sweep. */
export function generationStore({ knex, tenantId }: TenantDb) {
  const rows = rowsBy(knex);
  const which = 'tenant_id = :tenantId AND document_id = :documentId AND generation = :generation';

  return {
    /** Begins the next generation of a document and returns its number. @throws DomainError `notFound` if the document is absent */
    async begin(documentId: number): Promise<number> {
      const [begun] = await rows<{ generation: number }>(
        `WITH numbered AS (
           UPDATE knowledge_documents SET next_generation = next_generation + 1
            WHERE tenant_id = :tenantId AND id = :documentId RETURNING id, next_generation - 1 AS generation)
         INSERT INTO unsearched_generations (tenant_id, document_id, generation, sweep_at)
         SELECT :tenantId, id, generation, parley_now() + interval '${silentMinutes} minutes' FROM numbered
         RETURNING generation`,
        { tenantId, documentId },
      );
      if (!begun) throw notFound('Document', documentId);
      return begun.generation;
    },

    /** Shows that the generation's builder is alive. @throws DomainError `unavailable` if the builder was silent for too long */
    async extend(documentId: number, generation: number): Promise<void> {
      const extended = await rows(
        `UPDATE unsearched_generations SET sweep_at = parley_now() + interval '${silentMinutes} minutes'
          WHERE ${which} AND sweep_at > parley_now() RETURNING generation`,
        { tenantId, documentId, generation },
      );
      if (extended.length === 0) throw swept();
    },

    /**
     * Makes a generation the current one of its document at the commit.
     * @throws DomainError `unavailable` if the builder has not renewed the generation in time
     */
    async adopt(documentId: number, generation: number): Promise<void> {
      const adopted = await rows(
        `DELETE FROM unsearched_generations WHERE ${which} AND sweep_at > parley_now() RETURNING generation`,
        { tenantId, documentId, generation },
      );
      if (adopted.length === 0) throw swept();
    },

    /** Releases a generation at the commit, so that the sweep deletes its chunks. 0 and null are ignored. */
    async release(documentId: number, generation: number | null): Promise<void> {
      if (!generation) return;
      await rows(
        `INSERT INTO unsearched_generations (tenant_id, document_id, generation, sweep_at)
         VALUES (:tenantId, :documentId, :generation, parley_now())
         ON CONFLICT (tenant_id, document_id, generation) DO UPDATE SET sweep_at = excluded.sweep_at`,
        { tenantId, documentId, generation },
      );
    },

    /** Lets the sweep delete the generation at once, unless a document has adopted it. */
    async abandon(documentId: number, generation: number): Promise<void> {
      await rows(`UPDATE unsearched_generations SET sweep_at = parley_now() WHERE ${which} RETURNING generation`, {
        tenantId,
        documentId,
        generation,
      });
    },

    /** Locks a generation for sweeping. @returns false if the generation is in use or another transaction sweeps it */
    async lockDue(documentId: number, generation: number): Promise<boolean> {
      const due = await rows(
        `SELECT generation FROM unsearched_generations WHERE ${which} AND sweep_at <= parley_now()
            FOR UPDATE SKIP LOCKED`,
        { tenantId, documentId, generation },
      );
      return due.length > 0;
    },

    /**
     * Deletes up to `limit` chunks of a generation; if no chunks remain, also deletes the generation's row.
     * @returns true if no chunks remain
     */
    async sweep(documentId: number, generation: number, limit: number): Promise<boolean> {
      const ids = { tenantId, documentId, generation };
      const deleted = await rows(
        `DELETE FROM knowledge_chunks WHERE tenant_id = :tenantId AND id IN (
           SELECT id FROM knowledge_chunks WHERE ${which} LIMIT ${limit}) RETURNING id`,
        ids,
      );
      if (deleted.length === limit) return false;
      await rows(`DELETE FROM unsearched_generations WHERE ${which} RETURNING generation`, ids);
      return true;
    },
  };
}

function swept(): Error {
  return unavailable('Indexing the text took too long; try again');
}

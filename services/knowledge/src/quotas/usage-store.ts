import { badRequest } from '@parley/kernel/errors';
import { rowsBy } from '@parley/postgres/database/rows';
import type { TenantDb, TransactOptions } from '@parley/postgres/database/types';
import { uploadStore } from '../uploads/upload-store.ts';
import { bytesPerMb, type Quotas } from './quotas.ts';

export interface Usage {
  knowledgeBases: number;
  /** Number of chunks in the searched generations of live documents. */
  chunks: number;
  storedBytes: number;
}

/** Returns the lock queue for transactions that lock the tenant's usage row. */
export function usageQueueKey(tenantId: number): NonNullable<TransactOptions['lockQueue']> {
  return { row: `knowledge usage ${tenantId}` };
}

const columns = 'knowledge_bases, chunks, stored_bytes';
const nothing: Usage = { knowledgeBases: 0, chunks: 0, storedBytes: 0 };

/**
 * Stores a tenant's usage. Lock bases and documents first, because `change` and `lock` lock the tenant's only usage row until the commit.
 */
export function usageStore(db: TenantDb) {
  const { knex, tenantId } = db;
  const rows = rowsBy(knex);

  async function read(): Promise<Usage> {
    const [usage] = await rows<Usage>(`SELECT ${columns} FROM knowledge_usage WHERE tenant_id = :tenantId`, {
      tenantId,
    });
    return usage ?? nothing;
  }

  async function ensureRow(): Promise<void> {
    await rows('INSERT INTO knowledge_usage (tenant_id) VALUES (:tenantId) ON CONFLICT DO NOTHING', { tenantId });
  }

  /**
   * Refuses a change beyond the quotas. Storage reserved by open uploads counts as used. The reserved bytes are summed from the uploads'
   * rows, so they are always consistent.
   */
  async function checkQuotas(used: Usage, change: Partial<Usage>, quotas: Quotas): Promise<void> {
    const reservedBytes = (change.storedBytes ?? 0) > 0 ? await uploadStore(db).reservedBytes() : 0;
    checkRoom({ ...used, reservedBytes }, change, quotas);
  }

  return {
    read,

    /** Prevents other transactions from changing the usage or opening uploads until the commit. */
    async lock(): Promise<void> {
      await ensureRow();
      await rows('SELECT FROM knowledge_usage WHERE tenant_id = :tenantId FOR UPDATE', { tenantId });
    },

    /** Checks a change without reserving anything. @throws DomainError `invalid` if the change exceeds the plan's quotas */
    async check(change: Partial<Usage>, quotas: Quotas): Promise<void> {
      await checkQuotas(await read(), change, quotas);
    },

    /**
     * Changes the counters in the transaction that changes the rows.
     * @param quotas may be omitted for a change that only lowers counters; `unbounded` for changes that the operator causes
     * @throws DomainError `invalid` if the plan has no room for the change
     */
    async change(change: Partial<Usage>, quotas?: Quotas | 'unbounded'): Promise<void> {
      await ensureRow();
      const [after] = await rows<Usage>(
        `UPDATE knowledge_usage SET knowledge_bases = knowledge_bases + cast(:knowledgeBases AS integer),
           chunks = chunks + cast(:chunks AS integer), stored_bytes = stored_bytes + cast(:storedBytes AS bigint)
          WHERE tenant_id = :tenantId RETURNING ${columns}`,
        { tenantId, ...nothing, ...change },
      );
      if (!after) throw new Error('A tenant has no row of its usage');
      const before = { ...after };
      for (const [what, by] of Object.entries(change)) before[what as keyof Usage] -= by;
      if (quotas === 'unbounded') return;
      if (quotas) await checkQuotas(before, change, quotas);
      else if (Object.values(change).some((by) => by > 0)) throw new Error('Usage grows without a check of its quota');
    },
  };
}

/** Refuses growth beyond the quotas. A change that does not grow is allowed, because the usage may exceed a plan that was lowered. */
function checkRoom(used: Usage & { reservedBytes: number }, change: Partial<Usage>, quotas: Quotas): void {
  const { knowledgeBases = 0, chunks = 0, storedBytes = 0 } = change;
  if (knowledgeBases > 0 && used.knowledgeBases + knowledgeBases > quotas.knowledgeBases) {
    throw refused('knowledge bases', String(quotas.knowledgeBases), String(used.knowledgeBases));
  }
  if (chunks > 0 && used.chunks + chunks > quotas.chunks) {
    throw refused('chunks', String(quotas.chunks), `${used.chunks}, and this takes ${chunks} more`);
  }
  if (storedBytes > 0 && used.storedBytes + used.reservedBytes + storedBytes > quotas.storageBytes) {
    const reserved =
      used.reservedBytes > 0 ? `, ${inMb(used.reservedBytes)} reserved for uploads not yet confirmed` : '';
    const use = `${inMb(used.storedBytes)}${reserved}, and this takes ${inMb(storedBytes)} more`;
    throw refused('storage', inMb(quotas.storageBytes), use);
  }
}

function refused(quota: string, limit: string, use: string) {
  return badRequest(`The plan's quota of ${quota} does not have room: limit ${limit}, used ${use}`, 'QUOTA_EXCEEDED');
}

function inMb(bytes: number): string {
  return bytes < bytesPerMb / 1_000
    ? `${bytes} ${bytes === 1 ? 'byte' : 'bytes'}`
    : `${Math.round((bytes / bytesPerMb) * 1_000) / 1_000} MB`;
}

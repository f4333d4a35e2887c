import { parseId } from '@parley/kernel/row-id';
import { rowsBy } from '@parley/postgres/database/rows';
import { columnsOf } from '@parley/postgres/database/table';
import type { TenantDb } from '@parley/postgres/database/types';
import { type ExportRecord, exportRecords } from './export-record.ts';

const columns = columnsOf(exportRecords);

export interface NewExport {
  sessionId: number;
  agentId: number;
  requestKey: string;
}

/** A file that an export refers to. */
export interface StoredFile {
  objectKey: string;
  fileSizeBytes: number;
}

export interface ExportCounts {
  waitingOfSession: number;
  waitingOfTenant: number;
  keptOfSession: number;
}

/** Statuses change from an unfinished one only: what has ended stays as it is. */
const unfinished = `status IN ('PENDING', 'RENDERING')`;

export function exportStore(db: TenantDb) {
  const { knex, tenantId } = db;
  const rows = rowsBy(knex);
  const change = async (id: number, set: string, values: Record<string, unknown> = {}): Promise<boolean> => {
    const changed = await rows(
      `UPDATE export_records SET ${set}, updated_at = parley_now()
        WHERE tenant_id = :tenantId AND id = :id AND ${unfinished} RETURNING id`,
      { tenantId, id, ...values },
    );
    return changed.length > 0;
  };

  return {
    /** Undefined if it is absent or another tenant's. */
    async find(id: number): Promise<ExportRecord | undefined> {
      if (parseId(id) === undefined) return undefined;
      const [found] = await rows<ExportRecord>(
        `SELECT ${columns} FROM export_records WHERE tenant_id = :tenantId AND id = :id`,
        { tenantId, id },
      );
      return found;
    },

    async findByRequestKey(requestKey: string): Promise<ExportRecord | undefined> {
      const [found] = await rows<ExportRecord>(
        `SELECT ${columns} FROM export_records WHERE tenant_id = :tenantId AND request_key = :requestKey`,
        { tenantId, requestKey },
      );
      return found;
    },

    /** Until this transaction ends, no other one counts and inserts for the tenant. */
    async lockCounts(): Promise<void> {
      await rows(
        `SELECT pg_advisory_xact_lock(hashtext(current_schema() || '.export_records'), cast(:tenantId AS integer))`,
        { tenantId },
      );
    },

    async count(sessionId: number): Promise<ExportCounts> {
      const [counts] = await rows<ExportCounts>(
        `SELECT (SELECT count(*) FROM export_records WHERE tenant_id = :tenantId AND ${unfinished}) AS waiting_of_tenant,
                (SELECT count(*) FROM export_records
                  WHERE tenant_id = :tenantId AND session_id = :sessionId AND ${unfinished}) AS waiting_of_session,
                (SELECT count(*) FROM export_records
                  WHERE tenant_id = :tenantId AND session_id = :sessionId) AS kept_of_session`,
        { tenantId, sessionId },
      );
      if (!counts) throw new Error('the database counted nothing');
      return counts;
    },

    async insert({ sessionId, agentId, requestKey }: NewExport): Promise<ExportRecord> {
      const [made] = await rows<ExportRecord>(
        `INSERT INTO export_records (tenant_id, session_id, agent_id, kind, request_key)
         VALUES (:tenantId, :sessionId, :agentId, 'STUDY_KIT', :requestKey) RETURNING ${columns}`,
        { tenantId, sessionId, agentId, requestKey },
      );
      if (!made) throw new Error('the database inserted nothing');
      return made;
    },

    /** False if it is gone or has ended. */
    markRendering: (id: number) => change(id, `status = 'RENDERING'`),

    /** PENDING again until another attempt begins. @returns the time, in milliseconds since 1970; undefined if it is gone or has ended */
    async markWaiting(id: number): Promise<number | undefined> {
      if (!(await change(id, `status = 'PENDING'`))) return undefined;
      const [row] = await rows<{ nowMs: number }>(
        'SELECT cast(extract(epoch FROM parley_now()) * 1000 AS float8) AS now_ms',
        {},
      );
      return row?.nowMs;
    },

    markReady: (id: number, { objectKey, fileSizeBytes, contentHash }: StoredFile & { contentHash: string }) =>
      change(
        id,
        `status = 'READY', object_key = :objectKey, file_size_bytes = :fileSizeBytes, content_hash = :contentHash`,
        { objectKey, fileSizeBytes, contentHash },
      ),

    /** With a file in its place it is FALLBACK_READY, else FAILED. */
    markFailed: (id: number, errorMessage: string, fallback: StoredFile | undefined) =>
      fallback
        ? change(
            id,
            `status = 'FALLBACK_READY', error_message = :errorMessage, object_key = :objectKey, file_size_bytes = :fileSizeBytes`,
            { errorMessage, ...fallback },
          )
        : change(id, `status = 'FAILED', error_message = :errorMessage`, { errorMessage }),

    /** The newest file with this content that the session has. */
    async findFile(sessionId: number, contentHash: string): Promise<StoredFile | undefined> {
      const [found] = await rows<StoredFile>(
        `SELECT object_key, file_size_bytes FROM export_records
          WHERE tenant_id = :tenantId AND session_id = :sessionId AND content_hash = :contentHash ORDER BY id DESC LIMIT 1`,
        { tenantId, sessionId, contentHash },
      );
      return found;
    },

    /** Ms until it is so old; not positive after that, and for one that is gone. */
    async timeLeftMs(id: number, keptMs: number): Promise<number> {
      const [row] = await rows<{ left: number }>(
        `SELECT cast(extract(epoch FROM created_at + cast(:keptMs AS float8) * interval '1 millisecond' - parley_now()) * 1000 AS float8)
                AS left
           FROM export_records WHERE tenant_id = :tenantId AND id = :id`,
        { tenantId, id, keptMs },
      );
      return row?.left ?? 0;
    },

    async delete(id: number): Promise<void> {
      await rows('DELETE FROM export_records WHERE tenant_id = :tenantId AND id = :id', { tenantId, id });
    },

    async deleteAll(): Promise<void> {
      await rows('DELETE FROM export_records WHERE tenant_id = :tenantId', { tenantId });
    },
  };
}

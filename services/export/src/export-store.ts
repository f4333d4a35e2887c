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

export interface FailedExport {
  errorMessage: string;
  failureHash?: string | null | undefined;
  fallback?: StoredFile | undefined;
}

export interface ExportCounts {
  waitingOfSession: number;
  waitingOfTenant: number;
  keptOfSession: number;
}

/** The unfinished statuses. Only an unfinished status can change; a finished status is final. */
const unfinished = `status IN ('PENDING', 'RENDERING')`;

/** SQL: the files that a tenant's exports refer to, with size and age. */
const files = `SELECT object_key, min(session_id) AS session_id, max(file_size_bytes) AS bytes, min(id) AS since FROM export_records
  WHERE tenant_id = :tenantId AND status = 'READY' GROUP BY object_key`;

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
    /** Finds an export. Returns undefined if the export is absent or belongs to another tenant. */
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

    /**
     * Takes the tenant's lock: until this transaction ends, no other transaction can count or insert exports, or change their file
     * references.
     */
    async lock(): Promise<void> {
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

    /** Sets the status RENDERING. Returns false if the export was removed or has finished. */
    markRendering: (id: number) => change(id, `status = 'RENDERING'`),

    /**
     * Sets the status PENDING, for the time until another attempt begins.
     * @returns the database's time in ms since 1970; undefined if the export was removed or has finished
     */
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

    /**
     * Sets the status FALLBACK_READY if there is a fallback file, otherwise FAILED. `failureHash` identifies a failure that recurs for the
     * same content.
     */
    markFailed: (id: number, { errorMessage, failureHash = null, fallback }: FailedExport) =>
      fallback
        ? change(
            id,
            `status = 'FALLBACK_READY', error_message = :errorMessage, failure_hash = :failureHash, object_key = :objectKey, file_size_bytes = :fileSizeBytes`,
            { errorMessage, failureHash, ...fallback },
          )
        : change(id, `status = 'FAILED', error_message = :errorMessage, failure_hash = :failureHash`, {
            errorMessage,
            failureHash,
          }),

    /**
     * Returns the error message of an earlier export that failed, for the same session, content and limits; undefined if there was none.
     */
    async findFailure(sessionId: number, failureHash: string): Promise<string | undefined> {
      const [found] = await rows<{ errorMessage: string }>(
        `SELECT error_message FROM export_records
          WHERE tenant_id = :tenantId AND session_id = :sessionId AND failure_hash = :failureHash LIMIT 1`,
        { tenantId, sessionId, failureHash },
      );
      return found?.errorMessage;
    },

    /**
     * Finds a file of the session with this content. The content hash covers the session's id, so exports of other sessions cannot share
     * the file. The result is valid while the tenant's lock is held.
     */
    async findFile(sessionId: number, contentHash: string): Promise<StoredFile | undefined> {
      const [found] = await rows<StoredFile>(
        `SELECT object_key, file_size_bytes FROM export_records
          WHERE tenant_id = :tenantId AND session_id = :sessionId AND content_hash = :contentHash ORDER BY id DESC LIMIT 1`,
        { tenantId, sessionId, contentHash },
      );
      return found;
    },

    /** Returns the total bytes of the tenant's files. A file with several references counts once. */
    async keptBytes(): Promise<number> {
      const [sum] = await rows<{ bytes: number }>(
        `SELECT cast(coalesce(sum(bytes), 0) AS float8) AS bytes FROM (${files}) AS files`,
        { tenantId },
      );
      return sum?.bytes ?? 0;
    },

    /**
     * Finds the exports whose removal frees space: those that refer to the oldest file of the session with the most bytes. Ignores the file
     * `exceptKey`.
     */
    async findExcess(exceptKey: string): Promise<number[]> {
      const found = await rows<{ id: number }>(
        `WITH files AS MATERIALIZED (${files}),
              largest AS (SELECT session_id FROM files GROUP BY session_id
                          HAVING bool_or(object_key <> :exceptKey) ORDER BY sum(bytes) DESC, session_id LIMIT 1),
              oldest AS (SELECT object_key FROM files JOIN largest USING (session_id)
                          WHERE object_key <> :exceptKey ORDER BY since LIMIT 1)
         SELECT id FROM export_records JOIN oldest USING (object_key) WHERE tenant_id = :tenantId AND status = 'READY'`,
        { tenantId, exceptKey },
      );
      return found.map(({ id }) => id);
    },

    /** Returns those of the given keys that some export refers to. */
    async listReferenced(keys: readonly string[]): Promise<string[]> {
      const found = await rows<{ objectKey: string }>(
        `SELECT DISTINCT object_key FROM export_records
          WHERE tenant_id = :tenantId AND status = 'READY' AND object_key = ANY (:keys)`,
        { tenantId, keys: [...keys] },
      );
      return found.map(({ objectKey }) => objectKey);
    },

    /** Returns the time in ms until the export is `keptMs` old; zero or negative after that time, zero for a removed export. */
    async timeLeftMs(id: number, keptMs: number): Promise<number> {
      const [row] = await rows<{ remainingMs: number }>(
        `SELECT cast(extract(epoch FROM created_at + cast(:keptMs AS float8) * interval '1 millisecond' - parley_now()) * 1000 AS float8)
                AS remaining_ms
           FROM export_records WHERE tenant_id = :tenantId AND id = :id`,
        { tenantId, id, keptMs },
      );
      return row?.remainingMs ?? 0;
    },

    /**
     * Deletes exports.
     * @returns the keys of their files, without the key of the operator's fallback document.
     */
    async delete(ids: readonly number[]): Promise<string[]> {
      const deleted = await rows<Pick<ExportRecord, 'status' | 'objectKey'>>(
        'DELETE FROM export_records WHERE tenant_id = :tenantId AND id = ANY (:ids) RETURNING status, object_key',
        { tenantId, ids: [...ids] },
      );
      const keys = deleted.flatMap(({ status, objectKey }) => (status === 'READY' && objectKey ? [objectKey] : []));
      return [...new Set(keys)];
    },

    async deleteAll(): Promise<void> {
      await rows('DELETE FROM export_records WHERE tenant_id = :tenantId', { tenantId });
    },
  };
}

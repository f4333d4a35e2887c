import { rowsBy } from '@parley/postgres/database/rows';
import type { SharedDb, TenantDb } from '@parley/postgres/database/types';
import type { ToolRef } from './call-result.ts';
import { lapsedSql } from './calling-process.ts';

/** Identifies a call within its tenant. */
export interface CallName {
  turn: string;
  call: string;
}

/** Returns the call's name, unique over all tenants. */
export function callName(tenantId: number, { turn, call }: CallName): string {
  return JSON.stringify([tenantId, turn, call]);
}

export interface BegunCall extends CallName {
  ref: ToolRef;
  agentId: number | null;
  sessionId: number | null;
}

export interface StoredCall extends CallName {
  /** The call's number. Calls that begin later have higher numbers. */
  number: string;
  kind: ToolRef['kind'];
  target: number;
  toolName: string | null;
  agentId: number | null;
  sessionId: number | null;
  processId: string;
  noteSealed: Buffer;
  argumentsSealed: Buffer;
  /** The encrypted result; null until the call has a result. */
  resultSealed: Buffer | null;
  begunAt: Date;
  ageMs: number;
  /** Whether the call has no result and no live process runs it. */
  isLapsed: boolean;
}

/** Number of calls per read; each may have 1 MB. */
const readAtOnce = 8;

/** Stored bytes of an ended call; `kept_call_bytes` has the sum for each tenant. */
const bytesSql = 'octet_length(result_sealed) + octet_length(arguments_sealed) + octet_length(note_sealed)';

const columns = `number, turn, call, kind, target, tool_name, agent_id, session_id, process_id, note_sealed, arguments_sealed,
  result_sealed, begun_at, cast(extract(epoch FROM parley_now() - begun_at) * 1000 AS integer) AS age_ms, result_sealed IS NULL AND ${lapsedSql} AS is_lapsed`;

/** Calls that turns of the tenant have begun, kept for 24 hours. */
export function turnCallStore({ knex, tenantId }: TenantDb) {
  const rows = rowsBy(knex);
  return {
    /**
     * Records a call as begun.
     * @returns false if an earlier request began the call. If the stored sealed arguments are the same, this statement itself ran before
     * and its response was lost; the result is then true.
     */
    async begin(
      { turn, call, ref, agentId, sessionId }: BegunCall,
      processId: string,
      { noteSealed, argumentsSealed }: Pick<StoredCall, 'noteSealed' | 'argumentsSealed'>,
    ): Promise<boolean> {
      const { kind, target, toolName } = ref;
      const begun = await rows(
        `INSERT INTO turn_calls
           (tenant_id, turn, call, kind, target, tool_name, agent_id, session_id, process_id, note_sealed, arguments_sealed)
         VALUES (:tenantId, :turn, :call, :kind, :target, :toolName, :agentId, :sessionId, cast(:processId AS uuid),
           :noteSealed, :argumentsSealed)
         ON CONFLICT (tenant_id, turn, call) DO UPDATE SET call = excluded.call
           WHERE turn_calls.arguments_sealed = excluded.arguments_sealed AND turn_calls.result_sealed IS NULL
         RETURNING number`,
        { tenantId, turn, call, kind, target, toolName, agentId, sessionId, processId, noteSealed, argumentsSealed },
      );
      return begun.length > 0;
    },

    async find({ turn, call }: CallName): Promise<StoredCall | undefined> {
      const [found] = await rows<StoredCall>(
        `SELECT ${columns} FROM turn_calls WHERE tenant_id = :tenantId AND turn = :turn AND call = :call`,
        { tenantId, turn, call },
      );
      return found;
    },

    /** Reads up to `readAtOnce` calls of a turn with numbers below `before`, newest first. */
    async listSome(turn: string, before?: string): Promise<StoredCall[]> {
      return rows<StoredCall>(
        `SELECT ${columns} FROM turn_calls WHERE tenant_id = :tenantId AND turn = :turn
            AND (cast(:before AS bigint) IS NULL OR number < cast(:before AS bigint))
          ORDER BY number DESC LIMIT ${readAtOnce}`,
        { tenantId, turn, before: before ?? null },
      );
    },

    async keptBytes(): Promise<number> {
      const [kept] = await rows<{ bytes: string }>('SELECT bytes FROM kept_call_bytes WHERE tenant_id = :tenantId', {
        tenantId,
      });
      return Number(kept?.bytes ?? 0);
    },

    /** Stores the result unless there is one already. @returns whether it was stored */
    async end({ turn, call }: CallName, resultSealed: Buffer): Promise<boolean> {
      const ended = await rows(
        `WITH ended AS (
           UPDATE turn_calls SET result_sealed = :resultSealed
            WHERE tenant_id = :tenantId AND turn = :turn AND call = :call AND result_sealed IS NULL
           RETURNING ${bytesSql} AS bytes
         ), counted AS (
           INSERT INTO kept_call_bytes AS kept (tenant_id, bytes) SELECT :tenantId, bytes FROM ended
           ON CONFLICT (tenant_id) DO UPDATE SET bytes = kept.bytes + excluded.bytes
         )
         SELECT bytes FROM ended`,
        { tenantId, turn, call, resultSealed },
      );
      return ended.length > 0;
    },

    async deleteAll(): Promise<void> {
      await rows('DELETE FROM turn_calls WHERE tenant_id = :tenantId', { tenantId });
      await rows('DELETE FROM kept_call_bytes WHERE tenant_id = :tenantId', { tenantId });
    },
  };
}

/** Deletes a batch of calls, of any tenant, that began more than a day ago. @returns the number of deleted calls */
export async function deleteOldCalls({ knex }: SharedDb, max: number): Promise<number> {
  const deleted = await rowsBy(knex)(
    `WITH deleted AS (
       DELETE FROM turn_calls WHERE ctid = ANY (ARRAY (
         SELECT ctid FROM turn_calls WHERE begun_at < parley_now() - interval '1 day'
          ORDER BY begun_at LIMIT ${max} FOR UPDATE SKIP LOCKED))
       RETURNING tenant_id, ${bytesSql} AS bytes
     ), freed AS (
       UPDATE kept_call_bytes AS kept SET bytes = kept.bytes - freed.bytes
         FROM (SELECT tenant_id, sum(bytes) AS bytes FROM deleted GROUP BY tenant_id) AS freed
        WHERE kept.tenant_id = freed.tenant_id AND freed.bytes IS NOT NULL
     )
     SELECT tenant_id FROM deleted`,
    {},
  );
  return deleted.length;
}

/** Reads a batch of abandoned calls of any tenant. */
export async function listLapsedCalls({ knex }: SharedDb, max: number): Promise<(StoredCall & { tenantId: number })[]> {
  return rowsBy(knex)(
    `SELECT tenant_id, ${columns} FROM turn_calls WHERE result_sealed IS NULL AND ${lapsedSql} LIMIT ${max}`,
    {},
  );
}

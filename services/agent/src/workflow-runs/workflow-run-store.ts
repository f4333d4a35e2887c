import type { Page } from '@parley/kernel/input';
import { columnsWithin, listWithin } from '@parley/postgres/database/list-within';
import { rowsBy } from '@parley/postgres/database/rows';
import type { TenantDb } from '@parley/postgres/database/types';
import type { WorkflowDefinition } from '../workflow/definition.ts';
import type { WorkflowState } from '../workflow/state.ts';
import { progressOf, type StoredProgress, storedProgress } from './stored-progress.ts';
import { type RunProgress, stepsOf, type WorkflowRun, type WorkflowRunStatus, workflowRuns } from './workflow-run.ts';

export interface RunPlace {
  sessionId: number;
  workflowId: number;
}

export interface NewRun extends RunPlace {
  version: number | null;
  draft: WorkflowDefinition | null;
}

/** Facts about a session's earlier runs of a workflow. */
export interface SessionRuns {
  /** The published version that the last run used; null for a draft. */
  version: number | null;
  /** The state in which the last successful run ended. */
  state: WorkflowState | undefined;
}

export interface TakenRun {
  workflowId: number;
  version: number | null;
  draft: WorkflowDefinition | null;
  failureCode: string | null;
  progress: RunProgress;
}

/** Failures that a run's state does not contain. */
export type RunFailureCode = 'TURN_TIMEOUT' | 'SPEND_CAP_REACHED' | 'INTERNAL';

/** How a run ended between two states. */
export interface RunEnd {
  /** Null if the run was interrupted and another attempt may continue it. */
  failureCode: RunFailureCode | null;
  /** The new progress; if undefined, the stored progress stays. */
  progress: RunProgress | undefined;
}

/** The maximum number of runs that one turn deletes to get below the tenant's byte limit. */
const evictedAtOnce = 100;

const progressColumns = 'status, failure_code, progress, trace, tokens_in, tokens_out, cost_usd';
const progressValues = `:status, :failureCode, cast(:progress AS json), cast(:trace AS json), cast(:tokensIn AS integer),
                        cast(:tokensOut AS integer), cast(:costUsdE8 AS numeric) / 100000000`;
/** SQL that removes everything but the trace from a run that its session will not continue. */
const withoutState = `progress = '{}', draft = CASE WHEN run.draft IS NOT NULL THEN cast('{}' AS json) END, has_state = false`;
const traceBytes = 'octet_length(cast(run.trace AS text))';
const allBytes = `octet_length(cast(run.progress AS text)) + ${traceBytes} + coalesce(octet_length(cast(run.draft AS text)), 0)`;

/** Reads and writes runs by turn. Only the attempt that began a run, or took it over last, may write the run. */
export function workflowRunStore(db: TenantDb) {
  const { knex, tenantId } = db;
  const rows = rowsBy(knex);

  async function count(grown: number): Promise<void> {
    await rows(
      `INSERT INTO workflow_run_bytes AS counted (tenant_id, bytes) VALUES (:tenantId, cast(:grown AS bigint))
       ON CONFLICT (tenant_id) DO UPDATE SET bytes = counted.bytes + excluded.bytes`,
      { tenantId, grown },
    );
  }

  /**
   * Removes the states of a session's unsuccessful runs, except the run of `turnKey`, and closes those that are still open.
   * @returns the change of their size in bytes
   */
  async function dropFailed(sessionId: number, turnKey: string): Promise<number> {
    // The session's open runs are read by a separate statement first, because usually there are none. With a single statement, the cached
    // plan might read them again for each run of the tenant.
    const open = await rows<{ id: number; bytes: number }>(
      `SELECT id, bytes FROM workflow_runs
        WHERE tenant_id = :tenantId AND session_id = :sessionId AND has_state AND turn_key <> :turnKey
          AND status IN ('RUNNING', 'FAILED', 'INTERRUPTED') FOR UPDATE`,
      { tenantId, sessionId, turnKey },
    );
    if (open.length === 0) return 0;
    const dropped = await rows<{ bytes: number }>(
      `UPDATE workflow_runs AS run
          SET ${withoutState}, bytes = ${traceBytes}, status = CASE run.status WHEN 'RUNNING' THEN 'INTERRUPTED' ELSE run.status END,
              updated_at = CASE run.status WHEN 'RUNNING' THEN parley_now() ELSE run.updated_at END
        WHERE run.tenant_id = :tenantId AND run.id = ANY (cast(:ids AS integer[])) RETURNING run.bytes`,
      { tenantId, ids: open.map(({ id }) => id) },
    );
    return bytesOf(dropped) - bytesOf(open);
  }

  /** Deletes the tenant's oldest runs until `bytes` are freed, except running ones and the run that the session continues. */
  async function evict(sessionId: number, bytes: number): Promise<number> {
    const evicted = await rows<{ bytes: number }>(
      `DELETE FROM workflow_runs WHERE tenant_id = :tenantId AND id = ANY (ARRAY (
         SELECT id FROM (
           SELECT id, sum(bytes) OVER (ORDER BY created_at, id) - bytes AS older FROM (
             SELECT id, bytes, created_at FROM workflow_runs
              WHERE tenant_id = :tenantId AND status <> 'RUNNING' AND NOT (session_id = :sessionId AND has_state)
              ORDER BY created_at, id LIMIT ${evictedAtOnce} FOR UPDATE SKIP LOCKED) AS oldest) AS summed
          WHERE older < :bytes))
       RETURNING bytes`,
      { tenantId, sessionId, bytes },
    );
    return bytesOf(evicted);
  }

  return {
    /** Finds what a session's next run continues. @param isDraft whether to continue runs of the draft, or of published versions */
    async ofSession({ sessionId, workflowId }: RunPlace, isDraft: boolean): Promise<SessionRuns> {
      // Each subquery reads the session's runs backwards up to its first match.
      const [found] = await rows<{ version: number | null; progress: StoredProgress | null }>(
        `SELECT (SELECT version FROM workflow_runs
                  WHERE tenant_id = :tenantId AND session_id = :sessionId AND workflow_id = :workflowId AND version IS NOT NULL
                  ORDER BY id DESC LIMIT 1) AS version,
                (SELECT progress FROM workflow_runs
                  WHERE tenant_id = :tenantId AND session_id = :sessionId AND workflow_id = :workflowId AND has_state
                    AND status IN ('WAITING', 'ENDED') AND (version IS NULL) = :isDraft
                  ORDER BY id DESC LIMIT 1) AS progress`,
        { tenantId, sessionId, workflowId, isDraft },
      );
      return { version: found?.version ?? null, state: found?.progress ? progressOf(found.progress).state : undefined };
    },

    /**
     * Begins a run. Earlier turns of the session are over, so their open runs are closed, and unsuccessful runs are
     * reduced to their traces.
     * @returns false if the turn already has a run
     */
    async begin(run: NewRun, turnKey: string, attempt: string, progress: RunProgress): Promise<boolean> {
      const { sessionId, workflowId, version, draft } = run;
      const begun = await rows(
        `INSERT INTO workflow_runs (tenant_id, session_id, workflow_id, version, draft, turn_key, attempt, ${progressColumns})
         VALUES (:tenantId, :sessionId, :workflowId, :version, cast(:draft AS json), :turnKey, :attempt, ${progressValues})
         ON CONFLICT (tenant_id, turn_key) DO NOTHING RETURNING id`,
        {
          ...valuesOf(progress),
          tenantId,
          sessionId,
          workflowId,
          version,
          draft: draft && JSON.stringify(draft),
          turnKey,
          attempt,
        },
      );
      if (begun.length === 0) return false;
      await rows(
        `INSERT INTO workflow_run_days (tenant_id, day) VALUES (:tenantId, cast(parley_now() AT TIME ZONE 'UTC' AS date))
         ON CONFLICT DO NOTHING`,
        { tenantId },
      );
      const grown = await dropFailed(sessionId, turnKey);
      if (grown !== 0) await count(grown);
      return true;
    },

    /**
     * Takes over the turn's run from the attempt that holds it. Returns undefined if no run was begun, or if the
     * session has continued with a later turn.
     */
    async takeOver(turnKey: string, attempt: string): Promise<TakenRun | undefined> {
      const [taken] = await rows<
        Omit<TakenRun, 'progress'> & { progress: StoredProgress; trace: WorkflowRun['trace'] }
      >(
        `UPDATE workflow_runs
            SET attempt = :attempt, updated_at = parley_now(),
                status = CASE status WHEN 'INTERRUPTED' THEN 'RUNNING' ELSE status END
          WHERE tenant_id = :tenantId AND turn_key = :turnKey AND has_state
          RETURNING workflow_id, version, draft, failure_code, progress, trace`,
        { tenantId, turnKey, attempt },
      );
      return taken && { ...taken, progress: progressOf(taken.progress, taken.trace) };
    },

    /** Stores progress. @returns false if another attempt holds the run */
    async keep(turnKey: string, attempt: string, progress: RunProgress): Promise<boolean> {
      const kept = await rows(
        `UPDATE workflow_runs
            SET (${progressColumns}) = (SELECT ${progressValues}), updated_at = parley_now()
          WHERE tenant_id = :tenantId AND turn_key = :turnKey AND attempt = :attempt RETURNING id`,
        { ...valuesOf(progress), tenantId, turnKey, attempt },
      );
      return kept.length > 0;
    },

    /** Closes a run that ended between two states. */
    async close(turnKey: string, attempt: string, { failureCode, progress }: RunEnd): Promise<void> {
      if (progress) await this.keep(turnKey, attempt, progress);
      await rows(
        `UPDATE workflow_runs SET status = :status, failure_code = :failureCode, updated_at = parley_now()
          WHERE tenant_id = :tenantId AND turn_key = :turnKey AND attempt = :attempt AND status = 'RUNNING'`,
        { tenantId, turnKey, attempt, failureCode, status: failureCode === null ? 'INTERRUPTED' : 'FAILED' },
      );
    },

    /**
     * Counts the bytes of a run that has stopped. If the run succeeded, its session continues from it, and earlier runs
     * are reduced to their traces. If the tenant's runs exceed `maxBytes`, the oldest runs are deleted.
     */
    async settle(turnKey: string, attempt: string, maxBytes: number): Promise<void> {
      // All of this is one statement, because it runs at the end of every turn.
      const [settled] = await rows<{ sessionId: number; held: string }>(
        `WITH before AS (
           SELECT id, bytes FROM workflow_runs
            WHERE tenant_id = :tenantId AND turn_key = :turnKey AND attempt = :attempt FOR UPDATE
         ), measured AS (
           UPDATE workflow_runs AS run SET bytes = ${allBytes} FROM before
            WHERE run.tenant_id = :tenantId AND run.id = before.id
            RETURNING run.id, run.session_id, run.workflow_id, run.version, run.status, run.bytes - before.bytes AS grown
         ), earlier AS (
           SELECT run.id, run.bytes FROM workflow_runs AS run JOIN measured ON measured.status IN ('WAITING', 'ENDED')
            WHERE run.tenant_id = :tenantId AND run.session_id = measured.session_id AND run.id < measured.id AND run.has_state
              AND run.workflow_id = measured.workflow_id AND (run.version IS NULL) = (measured.version IS NULL) FOR UPDATE OF run
         ), dropped AS (
           UPDATE workflow_runs AS run SET ${withoutState}, bytes = ${traceBytes} FROM earlier
            WHERE run.tenant_id = :tenantId AND run.id = earlier.id RETURNING run.bytes - earlier.bytes AS grown
         ), counted AS (
           INSERT INTO workflow_run_bytes AS counted (tenant_id, bytes)
           SELECT :tenantId, grown + (SELECT coalesce(sum(grown), 0) FROM dropped) FROM measured
           ON CONFLICT (tenant_id) DO UPDATE SET bytes = counted.bytes + excluded.bytes RETURNING bytes
         )
         SELECT measured.session_id, counted.bytes AS held FROM measured, counted`,
        { tenantId, turnKey, attempt },
      );
      if (!settled) return;
      const { sessionId } = settled;
      const held = Number(settled.held);
      if (held <= maxBytes) return;
      const freed = await evict(sessionId, held - maxBytes);
      if (freed > 0) await count(-freed);
    },

    /**
     * Lists runs, newest first; traces only if selected.
     * @throws DomainError `ANSWER_TOO_LARGE` if the list is too large
     */
    async listOf(sessionId: number, { first, after }: Page): Promise<WorkflowRun[]> {
      const query = knex('workflow_runs')
        .select(knex.raw(columnsWithin(db, workflowRuns)))
        .where({ tenantId, sessionId })
        .orderBy('id', 'desc');
      if (after !== undefined) void query.where('id', '<', after);
      if (first !== undefined) void query.limit(first);
      return listWithin<WorkflowRun>(db, query);
    },

    /** Deletes up to `limit` runs of this day or earlier. @returns whether `limit` runs were deleted, so that more may remain */
    async deleteUntil(day: string, days: number, limit: number): Promise<boolean> {
      const deleted = await rows<{ bytes: number }>(
        `DELETE FROM workflow_runs WHERE tenant_id = :tenantId AND id = ANY (ARRAY (
           SELECT run.id FROM workflow_runs AS run
            WHERE run.tenant_id = :tenantId AND run.created_at < (cast(:day AS date) + 1) AT TIME ZONE 'UTC'
              AND NOT (run.status IN ('WAITING', 'ENDED') AND run.has_state
                AND EXISTS (SELECT FROM workflow_runs AS recent
                             WHERE recent.tenant_id = :tenantId AND recent.session_id = run.session_id
                               AND recent.updated_at > parley_now() - cast(:days AS integer) * interval '1 day')
                AND NOT EXISTS (SELECT FROM workflow_runs AS later
                                 WHERE later.tenant_id = :tenantId AND later.session_id = run.session_id AND later.id > run.id
                                   AND later.workflow_id = run.workflow_id AND later.status IN ('WAITING', 'ENDED')
                                   AND (later.version IS NULL) = (run.version IS NULL)))
            LIMIT ${limit}))
         RETURNING bytes`,
        { tenantId, day, days },
      );
      const freed = deleted.reduce((sum, { bytes }) => sum + bytes, 0);
      if (freed > 0) await count(-freed);
      return deleted.length === limit;
    },
  };
}

function bytesOf(runs: readonly { bytes: number }[]): number {
  return runs.reduce((sum, { bytes }) => sum + bytes, 0);
}

function valuesOf(progress: RunProgress) {
  const { state, usage } = progress;
  return {
    progress: JSON.stringify(storedProgress(progress)),
    trace: JSON.stringify(stepsOf(progress)),
    tokensIn: usage.tokensIn,
    tokensOut: usage.tokensOut,
    costUsdE8: usage.costUsdE8.toString(),
    status: statusOf(state),
    failureCode: state.failure?.code ?? null,
  };
}

function statusOf({ status }: WorkflowState): WorkflowRunStatus {
  if (status === 'ended') return 'ENDED';
  if (status === 'waiting') return 'WAITING';
  return status === 'failed' ? 'FAILED' : 'RUNNING';
}

import type { Page } from '@parley/kernel/input';
import { columnsWithin, listWithin } from '@parley/postgres/database/list-within';
import { rowsBy } from '@parley/postgres/database/rows';
import type { TenantDb } from '@parley/postgres/database/types';
import type { TurnUsage } from '@parley/protos/parley/agent/v1/agent';
import type { WorkflowDefinition } from '../workflow/definition.ts';
import type { WorkflowState } from '../workflow/state.ts';
import { type RunProgress, stepsOf, type WorkflowRun, type WorkflowRunStatus, workflowRuns } from './workflow-run.ts';

export interface RunPlace {
  sessionId: number;
  workflowId: number;
}

export interface NewRun extends RunPlace {
  version: number | null;
  draft: WorkflowDefinition | null;
}

/** What a session's earlier runs of a workflow have left. */
export interface SessionRuns {
  /** Of the published definition that the last one ran. */
  version: number | null;
  /** What the last one that did not fail ended with. */
  state: WorkflowState | undefined;
}

export interface TakenRun {
  version: number | null;
  draft: WorkflowDefinition | null;
  failureCode: string | null;
  progress: RunProgress;
}

/** Ends of runs that their state does not know. */
export type RunFailureCode = 'TURN_TIMEOUT' | 'SPEND_CAP_REACHED' | 'INTERNAL';

const progressColumns = 'status, failure_code, progress, trace, tokens_in, tokens_out, cost_usd';
const progressValues = `:status, :failureCode, cast(:progress AS json), cast(:trace AS json), cast(:tokensIn AS integer),
                        cast(:tokensOut AS integer), cast(:costUsdE8 AS numeric) / 100000000`;

/** Runs by turn. Only the attempt that began or took one last may write it. */
export function workflowRunStore(db: TenantDb) {
  const { knex, tenantId } = db;
  const rows = rowsBy(knex);
  return {
    /** @param isDraft whether runs of the draft are continued, or those of published versions */
    async ofSession({ sessionId, workflowId }: RunPlace, isDraft: boolean): Promise<SessionRuns> {
      const [found] = await rows<{ version: number | null; progress: StoredProgress | null }>(
        `WITH run AS (
           SELECT id, version, status, progress FROM workflow_runs
            WHERE tenant_id = :tenantId AND session_id = :sessionId AND workflow_id = :workflowId)
         SELECT (SELECT version FROM run WHERE version IS NOT NULL ORDER BY id DESC LIMIT 1) AS version,
                (SELECT progress FROM run WHERE status IN ('WAITING', 'ENDED') AND (version IS NULL) = :isDraft
                  ORDER BY id DESC LIMIT 1) AS progress`,
        { tenantId, sessionId, workflowId, isDraft },
      );
      return { version: found?.version ?? null, state: found?.progress ? restored(found.progress).state : undefined };
    },

    /** Begins a run, and closes those that earlier turns of the session have left open. False if the turn has one. */
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
      await rows(
        `INSERT INTO workflow_run_days (tenant_id, day) VALUES (:tenantId, cast(parley_now() AT TIME ZONE 'UTC' AS date))
         ON CONFLICT DO NOTHING`,
        { tenantId },
      );
      await rows(
        `UPDATE workflow_runs SET status = 'INTERRUPTED', updated_at = parley_now()
          WHERE tenant_id = :tenantId AND session_id = :sessionId AND status = 'RUNNING' AND turn_key <> :turnKey`,
        { tenantId, sessionId, turnKey },
      );
      return begun.length > 0;
    },

    /** Takes the turn's run from the attempt that has it; undefined where none was begun. */
    async takeOver(turnKey: string, attempt: string): Promise<TakenRun | undefined> {
      const [taken] = await rows<
        Omit<TakenRun, 'progress'> & { progress: StoredProgress; trace: WorkflowRun['trace'] }
      >(
        `UPDATE workflow_runs
            SET attempt = :attempt, updated_at = parley_now(),
                status = CASE status WHEN 'INTERRUPTED' THEN 'RUNNING' ELSE status END
          WHERE tenant_id = :tenantId AND turn_key = :turnKey RETURNING version, draft, failure_code, progress, trace`,
        { tenantId, turnKey, attempt },
      );
      return taken && { ...taken, progress: restored(taken.progress, taken.trace) };
    },

    /** False if the run is another attempt's. */
    async keep(turnKey: string, attempt: string, progress: RunProgress): Promise<boolean> {
      const kept = await rows(
        `UPDATE workflow_runs
            SET (${progressColumns}) = (SELECT ${progressValues}), updated_at = parley_now()
          WHERE tenant_id = :tenantId AND turn_key = :turnKey AND attempt = :attempt RETURNING id`,
        { ...valuesOf(progress), tenantId, turnKey, attempt },
      );
      return kept.length > 0;
    },

    /** Of a run that ends between two states; null: it was cut, and another attempt may go on. */
    async close(turnKey: string, attempt: string, failureCode: RunFailureCode | null): Promise<void> {
      await rows(
        `UPDATE workflow_runs SET status = :status, failure_code = :failureCode, updated_at = parley_now()
          WHERE tenant_id = :tenantId AND turn_key = :turnKey AND attempt = :attempt AND status = 'RUNNING'`,
        { tenantId, turnKey, attempt, failureCode, status: failureCode === null ? 'INTERRUPTED' : 'FAILED' },
      );
    },

    /** Newest first; traces only if selected. @throws DomainError `ANSWER_TOO_LARGE` */
    async listOf(sessionId: number, { first, after }: Page): Promise<WorkflowRun[]> {
      const query = knex('workflow_runs')
        .select(knex.raw(columnsWithin(db, workflowRuns)))
        .where({ tenantId, sessionId })
        .orderBy('id', 'desc');
      if (after !== undefined) void query.where('id', '<', after);
      if (first !== undefined) void query.limit(first);
      return listWithin<WorkflowRun>(db, query);
    },
  };
}

/** The trace has a column of its own. */
interface StoredProgress {
  state: Omit<WorkflowState, 'trace'>;
  usage: Omit<TurnUsage, 'costUsdE8'> & { costUsdE8: string };
  passages?: RunProgress['passages'];
}

function valuesOf(progress: RunProgress) {
  const { state, usage, passages } = progress;
  const { trace: _, ...rest } = state;
  const costUsdE8 = usage.costUsdE8.toString();
  const stored: StoredProgress = { state: rest, usage: { ...usage, costUsdE8 }, passages };
  return {
    progress: JSON.stringify(stored),
    trace: JSON.stringify(stepsOf(progress)),
    tokensIn: usage.tokensIn,
    tokensOut: usage.tokensOut,
    costUsdE8,
    status: statusOf(state),
    failureCode: state.failure?.code ?? null,
  };
}

function restored({ state, usage, passages }: StoredProgress, steps: WorkflowRun['trace'] = []): RunProgress {
  const spent = steps.map(({ tokensIn, tokensOut, costUsdE8 }) => ({ tokensIn, tokensOut, costUsdE8 }));
  const trace = steps.map(({ tokensIn: _in, tokensOut: _out, costUsdE8: _cost, ...step }) => step);
  return {
    state: { ...state, trace },
    spent,
    usage: { ...usage, costUsdE8: BigInt(usage.costUsdE8) },
    passages,
  };
}

function statusOf({ status }: WorkflowState): WorkflowRunStatus {
  if (status === 'ended') return 'ENDED';
  if (status === 'waiting') return 'WAITING';
  return status === 'failed' ? 'FAILED' : 'RUNNING';
}

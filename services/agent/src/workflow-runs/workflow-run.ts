import { column, type RowOf, table } from '@parley/postgres/database/table';
import type { TurnUsage } from '@parley/protos/parley/agent/v1/agent';
import type { ToolCall } from '@parley/protos/parley/agent/v1/tool_calls';
import type { Passage } from '@parley/protos/parley/knowledge/v1/knowledge';
import { noUsage, sumOf } from '@parley/protos/turn-usage';
import type { NodeError, WorkflowState, WorkflowTraceStep } from '../workflow/state.ts';

/** A run's progress: what another process needs to continue it. */
export interface RunProgress {
  state: WorkflowState;
  /** Usage of each step of the state's trace, by index; steps without calls have none. */
  spent: StepSpent[];
  /** Usage of all steps, in all attempts. */
  usage: TurnUsage;
  /** The passages that the turn's models were given; undefined if nothing was searched. */
  passages: Passage[] | undefined;
  /** The turn's tool and action calls as reported to its client, in the order in which they began. */
  calls: ToolCall[];
  /** How long calls have run, without waits for model slots. */
  ranMs: number;
}

export interface StepSpent {
  tokensIn: number;
  tokensOut: number;
  costUsdE8: number;
}

/** A node that a run has begun, with the usage of its calls. */
export type RunStep = WorkflowTraceStep & StepSpent;

export type WorkflowRunStatus = 'RUNNING' | 'WAITING' | 'ENDED' | 'FAILED' | 'INTERRUPTED';

export const workflowRuns = table('workflow_runs', {
  id: column<number>(),
  sessionId: column<number>(),
  workflowId: column<number>(),
  /** Null if the run used the draft. */
  version: column<number | null>(),
  status: column<WorkflowRunStatus>(),
  failureCode: column<string | null>(),
  tokensIn: column<number>(),
  tokensOut: column<number>(),
  costUsd: column<number>({ sql: (run) => `cast(${run}.cost_usd AS float8)` }),
  trace: column<RunStep[]>({ json: true, long: "'[]'::json" }),
  createdAt: column<Date>(),
  updatedAt: column<Date>(),
});

export type WorkflowRun = RowOf<typeof workflowRuns>;

const noneSpent: StepSpent = { tokensIn: 0, tokensOut: 0, costUsdE8: 0 };

export function stepsOf({ state, spent }: Pick<RunProgress, 'state' | 'spent'>): RunStep[] {
  return state.trace.map((step, place) => ({ ...step, ...(spent[place] ?? noneSpent) }));
}

/** Returns the run with the usage of calls added to its last step. */
export function withSpent(progress: RunProgress, usage: TurnUsage): RunProgress {
  const spent = [...progress.spent];
  const place = progress.state.trace.length - 1;
  const { tokensIn, tokensOut, costUsdE8 } = spent[place] ?? noneSpent;
  spent[place] = {
    tokensIn: tokensIn + usage.tokensIn,
    tokensOut: tokensOut + usage.tokensOut,
    costUsdE8: costUsdE8 + Number(usage.costUsdE8),
  };
  return { ...progress, spent, usage: { ...sumOf(progress.usage, usage), contextTokens: 0 } };
}

/** Returns the run with a call of its last step added or changed. */
export function withCall(progress: RunProgress, call: ToolCall): RunProgress {
  const calls = new Map(progress.calls.map((each) => [each.callId, each]));
  return { ...progress, calls: [...calls.set(call.callId, call).values()] };
}

/** Returns the run with an error for its last step, within which the run ended. */
export function cutBy(progress: RunProgress, error: NodeError, now: number): RunProgress {
  const { state } = progress;
  const last = state.trace.at(-1);
  if (!last || last.durationMs !== null) return progress;
  const step = { ...last, durationMs: Math.max(0, now - last.startedAt), error };
  return { ...progress, state: { ...state, trace: [...state.trace.slice(0, -1), step] } };
}

export function newProgress(state: WorkflowState): RunProgress {
  return { state, spent: [], usage: noUsage, passages: undefined, calls: [], ranMs: 0 };
}

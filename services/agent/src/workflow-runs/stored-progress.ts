import type { TurnUsage } from '@parley/protos/parley/agent/v1/agent';
import type { Json, JsonObject } from '../workflow/definition.ts';
import type { NodeError, NodeResult, WorkflowState } from '../workflow/state.ts';
import type { RunProgress, RunStep } from './workflow-run.ts';

/** A run's progress as stored in its row. The trace has its own column. */
export interface StoredProgress {
  state: Omit<WorkflowState, 'trace' | 'nodes'> & { nodes: Record<string, StoredResult> };
  usage: Omit<TurnUsage, 'costUsdE8'> & { costUsdE8: string };
  passages?: RunProgress['passages'];
  calls?: RunProgress['calls'];
  ranMs?: number;
}

/** An output that equals a variable's value is stored as the name of that variable. */
type StoredResult = NodeResult | { outputOf: string; error?: NodeError };

const shortest = 100;

/** Converts progress for its row. For a failed run only the failure is stored. */
export function storedProgress({ state, usage, passages, calls, ranMs }: RunProgress): StoredProgress {
  const { trace: _, ...kept } = state;
  const { variables, nodes, ...rest } = kept;
  const isOver = state.status === 'failed';
  return {
    state: {
      ...rest,
      ...(isOver && { message: '', identity: null, session: noSession, effect: null }),
      variables: isOver ? {} : variables,
      nodes: isOver ? {} : storedResults(nodes, variables),
    },
    usage: { ...usage, costUsdE8: usage.costUsdE8.toString() },
    passages,
    calls: isOver ? [] : calls,
    ranMs,
  };
}

export function progressOf(
  { state, usage, passages, calls = [], ranMs }: StoredProgress,
  steps: readonly RunStep[] = [],
): RunProgress {
  const spent = steps.map(({ tokensIn, tokensOut, costUsdE8 }) => ({ tokensIn, tokensOut, costUsdE8 }));
  const trace = steps.map(({ tokensIn: _in, tokensOut: _out, costUsdE8: _cost, ...step }) => step);
  const { nodes, variables } = state;
  return {
    state: { ...state, nodes: mapped(nodes, (result) => restoredResult(result, variables)), trace },
    spent,
    usage: { ...usage, costUsdE8: BigInt(usage.costUsdE8) },
    passages,
    calls,
    ranMs: ranMs ?? trace.reduce((sum, { durationMs }) => sum + (durationMs ?? 0), 0),
  };
}

const noSession = { id: null, clientExternalId: null, metadata: null, startedAt: null };

function storedResults(nodes: WorkflowState['nodes'], variables: JsonObject): Record<string, StoredResult> {
  const names = new Map(Object.entries(variables).map(([name, value]) => [value, name]));
  return mapped(nodes, ({ output, ...result }) => {
    const name = isLong(output) ? names.get(output) : undefined;
    if (name !== undefined) return { ...result, outputOf: name };
    return output === undefined ? result : { ...result, output };
  });
}

/**
 * Reports whether an output should be compared with the variables. Objects are compared by identity, because the engine
 * uses the same object for output and variable.
 */
function isLong(output: Json | undefined): output is Json {
  return typeof output === 'string' ? output.length > shortest : typeof output === 'object' && output !== null;
}

function restoredResult(result: StoredResult, variables: JsonObject): NodeResult {
  if (!('outputOf' in result)) return result;
  const { outputOf, ...rest } = result;
  return { ...rest, output: variables[outputOf] ?? null };
}

function mapped<From, To>(record: Record<string, From>, of: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, of(value)]));
}

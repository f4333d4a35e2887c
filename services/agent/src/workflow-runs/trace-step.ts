import type { WorkflowTraceStepDto } from '../generated/schema.ts';
import type { RunStep } from './workflow-run.ts';

export function toTraceStep(step: RunStep): WorkflowTraceStepDto {
  const { nodeId, kind, startedAt, durationMs, output, error, tokensIn, tokensOut, costUsdE8 } = step;
  return {
    nodeId,
    kind,
    startedAt: new Date(startedAt),
    durationMs: durationMs ?? 0,
    output,
    error: error && `${error.code}: ${error.message}`,
    tokensIn,
    tokensOut,
    costUsd: costUsdE8 / 1e8,
  };
}

import type { TenantRequest } from '@parley/kernel/caller-request';
import type { WorkflowDefinition } from './definition.ts';
import type { EvaluationBudget, WorkflowEngine } from './engine.ts';
import { shareProcessor } from './share-processor.ts';
import type { WorkflowState } from './state.ts';

export interface Advance {
  engine: Pick<WorkflowEngine, 'step'>;
  definition: WorkflowDefinition;
  budget: EvaluationBudget;
}

/** Runs nodes up to the next effect or the end of the turn, each node within its tenant's share of the processor. */
export async function advance(
  request: Pick<TenantRequest, 'caller' | 'signal'>,
  { engine, definition, budget }: Advance,
  from: WorkflowState,
): Promise<WorkflowState> {
  let state = from;
  while (state.status === 'running') {
    const at = state;
    state = await shareProcessor(request, () => engine.step(definition, at, budget));
  }
  return state;
}

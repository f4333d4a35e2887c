import type { JsonObject, ResponseNode, WorkflowDefinition, WorkflowNode } from '../definition.ts';
import type { EvaluationBudget, WorkflowEngine, WorkflowTurn } from '../engine.ts';
import type { EffectOutcome, WorkflowEffect, WorkflowState } from '../state.ts';

/** Returns a definition that begins with the first of these nodes. */
export function workflow(nodes: Record<string, WorkflowNode>, variables: JsonObject = {}): WorkflowDefinition {
  return { version: 1, start: Object.keys(nodes)[0] ?? '', variables, nodes };
}

export function say(text: string, rest: Partial<ResponseNode> = {}): ResponseNode {
  return { kind: 'response', text, ...rest };
}

export function turnOf(message: string, rest: Partial<WorkflowTurn> = {}): WorkflowTurn {
  const session = {
    id: 7,
    clientExternalId: 'customer-1',
    metadata: { plan: 'gold' },
    startedAt: '2026-01-01T00:00:00.000Z',
  };
  return { message, session, identity: null, ...rest };
}

/** Runs a turn to its end. Each state is converted to JSON and back, as by a caller that stores states. */
export function runTurn(
  engine: WorkflowEngine,
  definition: WorkflowDefinition,
  begun: WorkflowState,
  answer: (effect: WorkflowEffect) => EffectOutcome,
): { state: WorkflowState; effects: WorkflowEffect[] } {
  const effects: WorkflowEffect[] = [];
  let state = begun;
  for (;;) {
    state = stored(engine.step(definition, state));
    if (state.status === 'running') continue;
    if (!state.effect) return { state, effects };
    effects.push(state.effect);
    state = stored(engine.resume(definition, state, state.effect.key, answer(state.effect)));
  }
}

/** Runs nodes up to the next effect, or the end of the turn. */
export function advanced(
  engine: WorkflowEngine,
  definition: WorkflowDefinition,
  from: WorkflowState,
  budget?: EvaluationBudget,
): WorkflowState {
  let state = from;
  while (state.status === 'running') state = engine.step(definition, state, budget);
  return state;
}

export function stored<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value;
}

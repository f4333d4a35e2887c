import type { Agent } from '@parley/protos/parley/agent/v1/agent';

const general = ['EXCELLENT', 'GOOD', 'NEEDS_IMPROVEMENT'];

/** From best to worst. */
const byUseCase = new Map([
  ['INTERVIEW', ['STRONG_HIRE', 'HIRE', 'HOLD', 'NO_HIRE']],
  ['EDUCATION', ['MASTERED', 'ON_TRACK', 'NEEDS_SUPPORT']],
]);

/** What a recommendation may be: the agent's own labels (none at all where it wants none), else its use case's. Best first. */
export function labelsOf({ useCase, evaluationRecommendationLabels: own }: Agent): string[] {
  return own ? own.labels : (byUseCase.get(useCase) ?? general);
}

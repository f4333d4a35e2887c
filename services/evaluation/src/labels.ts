import type { Agent } from '@parley/protos/parley/agent/v1/agent';

const general = ['EXCELLENT', 'GOOD', 'NEEDS_IMPROVEMENT'];

const byUseCase = new Map([
  ['INTERVIEW', ['STRONG_HIRE', 'HIRE', 'HOLD', 'NO_HIRE']],
  ['EDUCATION', ['MASTERED', 'ON_TRACK', 'NEEDS_SUPPORT']],
]);

/**
 * Returns the labels for a recommendation, best first: the agent's own list, even if that is empty; if the agent has no list, the labels of
 * its use case.
 */
export function labelsOf({ useCase, evaluationRecommendationLabels: own }: Agent): string[] {
  return own ? own.labels : (byUseCase.get(useCase) ?? general);
}

import type { Agent } from '@parley/protos/parley/agent/v1/agent';

const general = ['EXCELLENT', 'GOOD', 'NEEDS_IMPROVEMENT'];

const byUseCase = new Map([
  ['INTERVIEW', ['STRONG_HIRE', 'HIRE', 'HOLD', 'NO_HIRE']],
  ['EDUCATION', ['MASTERED', 'ON_TRACK', 'NEEDS_SUPPORT']],
]);

/** The labels for a recommendation, best first: the agent's own (an empty list means none), else its use case's. */
export function labelsOf({ useCase, evaluationRecommendationLabels: own }: Agent): string[] {
  return own ? own.labels : (byUseCase.get(useCase) ?? general);
}

import { Agent } from '@parley/protos/parley/agent/v1/agent';
import test from 'ava';
import { labelsOf } from './labels.ts';

const general = ['EXCELLENT', 'GOOD', 'NEEDS_IMPROVEMENT'];

test('each use case has its labels, best first', (t) => {
  const of = (useCase: string) => labelsOf(Agent.fromPartial({ useCase }));
  t.deepEqual(of('INTERVIEW'), ['STRONG_HIRE', 'HIRE', 'HOLD', 'NO_HIRE']);
  t.deepEqual(of('EDUCATION'), ['MASTERED', 'ON_TRACK', 'NEEDS_SUPPORT']);
  for (const useCase of ['CUSTOM', 'ONBOARDING', 'SALES', 'SUPPORT', 'constructor']) t.deepEqual(of(useCase), general);
});

test("the agent's own labels replace them; an empty list means none", (t) => {
  const of = (labels: string[]) =>
    labelsOf(Agent.fromPartial({ useCase: 'INTERVIEW', evaluationRecommendationLabels: { labels } }));
  t.deepEqual(of(['b', 'a']), ['b', 'a']);
  t.deepEqual(of([]), []);
});

import { createMetrics } from '@parley/kernel/telemetry/metrics';
import test from 'ava';
import { modelMetrics } from './model-metrics.ts';

test('input and output tokens of a call are measured separately', async (t) => {
  const metrics = createMetrics('agent');
  const model = { providerId: 'P', modelId: 'm' };
  const { used } = modelMetrics(metrics, { failing: () => [] }, [model]);
  used(model, { tokensIn: 700, tokensCached: 0, tokensOut: 30, estimated: false });

  const text = await metrics.registry.metrics();
  const sums = text.matchAll(/^gen_ai_client_token_usage_sum\{.*gen_ai_token_type="(\w+)".*\} (\d+)$/gmu);
  t.deepEqual(
    [...sums].map(([, type, sum]) => [type, sum]),
    [
      ['input', '700'],
      ['output', '30'],
    ],
  );
});

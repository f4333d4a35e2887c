import { positiveInt } from '@parley/kernel/settings/setting-types';
import { type Settings, setting, type ValuesOf } from '@parley/kernel/settings/settings';
import { portSettings } from '@parley/kernel/settings/shared-settings';

export const evaluationSettings = {
  concurrency: setting(
    'EVALUATION_CONCURRENCY',
    positiveInt.default(8),
    'Judgements under way at once in this process.',
  ),
  perTenant: setting(
    'EVALUATION_PER_TENANT',
    positiveInt.default(4),
    'Judgements of one tenant under way at once, over all replicas; its others wait.',
  ),
  judgeTimeoutMs: setting(
    'EVALUATION_JUDGE_TIMEOUT_MS',
    positiveInt.default(120_000),
    'How long one request for a judgement may take, half of it to wait for its turn.',
  ),
  leaseMs: setting(
    'EVALUATION_LEASE_MS',
    positiveInt.default(30_000),
    'How long a process may be silent before another takes its judgements.',
  ),
  ...portSettings('evaluation', ['rpc', 'ops']),
} satisfies Settings;

export type EvaluationConfig = ValuesOf<typeof evaluationSettings>;

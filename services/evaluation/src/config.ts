import { positiveInt } from '@parley/kernel/settings/setting-types';
import { type Settings, setting, type ValuesOf } from '@parley/kernel/settings/settings';
import { portSettings } from '@parley/kernel/settings/shared-settings';

export const evaluationSettings = {
  concurrency: setting(
    'EVALUATION_CONCURRENCY',
    positiveInt.default(8),
    'Maximum number of judgements that this process makes at once.',
  ),
  perTenant: setting(
    'EVALUATION_PER_TENANT',
    positiveInt.default(4),
    'Maximum number of judgements of one tenant that are made at once, over all replicas; further judgements wait.',
  ),
  judgeTimeoutMs: setting(
    'EVALUATION_JUDGE_TIMEOUT_MS',
    positiveInt.default(120_000),
    'Maximum time of one request to agent for a judgement. Up to half of this time may pass while the request waits for a model slot.',
  ),
  leaseMs: setting(
    'EVALUATION_LEASE_MS',
    positiveInt.default(30_000),
    'Maximum time until another process with a free slot takes over the judgements of a process that has died or no longer responds.',
  ),
  ...portSettings('evaluation', ['rpc', 'ops']),
} satisfies Settings;

export type EvaluationConfig = ValuesOf<typeof evaluationSettings>;

import { type Environment, readSettings } from '@parley/chassis/config';
import { positiveInt } from '@parley/chassis/setting-types';
import { setting, type ValuesOf } from '@parley/chassis/settings';
import { portSettings } from '@parley/chassis/shared-settings';
import type { UnitSettings } from '@parley/chassis/unit-settings';

export const evaluationSettings = {
  unit: 'evaluation',
  database: true,
  calls: ['agent', 'session', 'identity'],
  subgraphs: [],
  own: {
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
  },
} satisfies UnitSettings;

export type EvaluationConfig = ValuesOf<typeof evaluationSettings.own>;

/** @throws SettingsError naming all that is wrong. */
export function readEvaluationConfig(env: Environment): EvaluationConfig {
  return readSettings(env, evaluationSettings.own);
}

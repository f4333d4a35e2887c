import { type Environment, port, positiveInt, readSettings } from '@parley/chassis/config';

export interface EvaluationConfig {
  /** Where other units reach it; 0, the default, is any free port. So for opsPort. */
  rpcPort: number;
  /** Where liveness, readiness and metrics are asked for. */
  opsPort: number;
  /** Judgements under way at once in this process. Default 8. */
  concurrency: number;
  /** Judgements of one tenant under way at once, over all replicas; its others wait. Default 4. */
  perTenant: number;
  /** How long one request for a judgement may take, in ms. Default 120,000. */
  judgeTimeoutMs: number;
  /** How long a process may be silent before another takes its judgements, in ms. Default 30,000. */
  leaseMs: number;
}

/** Reads the unit's settings; see its README for what each means. @throws SettingsError naming all that is wrong. */
export function readEvaluationConfig(env: Environment): EvaluationConfig {
  const settings = readSettings(env, {
    EVALUATION_RPC_PORT: port.default(0),
    EVALUATION_OPS_PORT: port.default(0),
    EVALUATION_CONCURRENCY: positiveInt.default(8),
    EVALUATION_PER_TENANT: positiveInt.default(4),
    EVALUATION_JUDGE_TIMEOUT_MS: positiveInt.default(120_000),
    EVALUATION_LEASE_MS: positiveInt.default(30_000),
  });
  return {
    rpcPort: settings.EVALUATION_RPC_PORT,
    opsPort: settings.EVALUATION_OPS_PORT,
    concurrency: settings.EVALUATION_CONCURRENCY,
    perTenant: settings.EVALUATION_PER_TENANT,
    judgeTimeoutMs: settings.EVALUATION_JUDGE_TIMEOUT_MS,
    leaseMs: settings.EVALUATION_LEASE_MS,
  };
}

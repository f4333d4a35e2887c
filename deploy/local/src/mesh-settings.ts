import { readAgentConfig } from '@parley/agent/config';
import { createModels, type ModelDescription } from '@parley/agent/models';
import { type Environment, readAll, unknownSettings } from '@parley/chassis/config';
import { createLogger } from '@parley/chassis/log';
import { readEvaluationConfig } from '@parley/evaluation/config';
import { readGatewayConfig } from '@parley/gateway/config';
import { readIdentityConfig } from '@parley/identity/config';
import { readSessionConfig } from '@parley/session/config';

export type { ModelDescription } from '@parley/agent/models';

/** The units of a mesh. */
export const unitNames = ['identity', 'agent', 'session', 'evaluation', 'gateway'];

/** What reads the settings of each unit, for `readAll`. */
export function unitSettings(env: Environment) {
  return {
    identity: () => readIdentityConfig(env),
    agent: () => readAgentConfig(env),
    session: () => readSessionConfig(env),
    evaluation: () => readEvaluationConfig(env),
    gateway: () => readGatewayConfig(env),
  };
}

/**
 * Reads the settings of all units, for whoever starts each as a process of its own: what is wrong is told once, and before any
 * starts.
 * @returns which models answer, and the variables that look like settings and are none, with the nearest setting.
 * @throws SettingsError naming all that is missing or wrong.
 */
export function readMeshSettings(env: Environment): {
  models: ModelDescription[];
  unknown: Record<string, string> | undefined;
} {
  const { agent } = readAll(unitSettings(env));
  return {
    models: createModels(agent.models, createLogger('mesh')).describe(),
    unknown: unknownSettings(env, unitNames),
  };
}

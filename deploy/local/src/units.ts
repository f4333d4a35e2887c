import { agentDeclaration } from '@parley/agent/declaration';
import type { UnitConfig, UnitDeclaration } from '@parley/chassis/declaration';
import type { Service } from '@parley/chassis/service';
import { evaluationDeclaration } from '@parley/evaluation/declaration';
import { gatewayDeclaration } from '@parley/gateway/declaration';
import { identityDeclaration } from '@parley/identity/declaration';
import { sessionDeclaration } from '@parley/session/declaration';

/** A unit of the mesh. */
export interface ListedUnit<Name extends string = string, Config extends UnitConfig = UnitConfig>
  extends UnitDeclaration<Name, Config> {
  /** Its workspace. */
  folder: string;
  /** How many processes of it there are where each unit is a process. */
  replicas: number;
  /** Loads its code. */
  load(): Promise<Service<Name, Config, unknown>>;
}

/**
 * All units, in the order in which they start in one process: consumers before producers, and the gateway last, so that whoever
 * reaches it finds everything there. As processes they stop in waves, the last first: whoever asks others goes before them.
 */
export const waves = [
  [
    listed(identityDeclaration, async () => (await import('@parley/identity')).identity),
    listed(agentDeclaration, async () => (await import('@parley/agent')).agent, { replicas: 2 }),
  ],
  [
    listed(evaluationDeclaration, async () => (await import('@parley/evaluation')).evaluation),
    listed(sessionDeclaration, async () => (await import('@parley/session')).session, { replicas: 2 }),
  ],
  [
    listed(gatewayDeclaration, async () => (await import('@parley/gateway')).gateway, {
      replicas: 2,
      folder: 'gateway',
    }),
  ],
] as const;

export const units = waves.flat();

export const unitNames: string[] = units.map(({ name }) => name);

function listed<Name extends string, Config extends UnitConfig>(
  declaration: UnitDeclaration<Name, Config>,
  load: ListedUnit<Name, Config>['load'],
  { replicas = 1, folder = `services/${declaration.name}` } = {},
): ListedUnit<Name, Config> {
  return { ...declaration, folder, replicas, load };
}

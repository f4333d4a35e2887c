import { actionDeclaration } from '@parley/action/declaration';
import { agentDeclaration } from '@parley/agent/declaration';
import { evaluationDeclaration } from '@parley/evaluation/declaration';
import type { TopicDeclaration } from '@parley/events/topics';
import { exportDeclaration } from '@parley/export/declaration';
import { gatewayDeclaration } from '@parley/gateway/declaration';
import { identityDeclaration } from '@parley/identity/declaration';
import { knowledgeDeclaration } from '@parley/knowledge/declaration';
import { parserDeclaration } from '@parley/parser/declaration';
import type { SchemaDeclaration } from '@parley/postgres/database/types';
import type { DeclaredUnit } from '@parley/service/declaration';
import type { Service } from '@parley/service/service';
import type { ServiceDependencies } from '@parley/service/service-dependencies';
import { sessionDeclaration } from '@parley/session/declaration';
import type { UnitConfig } from '@parley/unit/declaration';
import type { DefinedUnit } from '@parley/unit/define-unit';
import { voiceDeclaration } from '@parley/voice/declaration';

/** A unit with its code. Only services have the optional fields. */
export type LoadedUnit<Name extends string = string, Config extends UnitConfig = UnitConfig> = DefinedUnit<
  Name,
  Config,
  unknown,
  ServiceDependencies
> &
  Partial<Pick<Service<Name, Config, unknown>, 'schema' | 'publishes' | 'consumes' | 'rpc'>>;

/** A unit of the mesh. */
export type ListedUnit<Name extends string = string, Config extends UnitConfig = UnitConfig> = DeclaredUnit<
  Name,
  Config
> & {
  /** The folder of the unit's workspace. */
  folder: string;
  /** The number of the unit's processes in a mesh of processes. */
  replicas: number;
  /** Loads the unit's code. */
  load(): Promise<LoadedUnit<Name, Config>>;
};

/**
 * All units, in their start order within one process: consumers before producers. The gateway is last, so that it accepts requests only
 * when all services are up. Separate processes stop in waves, the last wave first: callers before the units they call.
 */
export const waves = [
  [listed(identityDeclaration, async () => (await import('@parley/identity')).identity)],
  [
    listed(parserDeclaration, async () => (await import('@parley/parser')).parser),
    listed(actionDeclaration, async () => (await import('@parley/action')).action),
    listed(knowledgeDeclaration, async () => (await import('@parley/knowledge')).knowledge),
    listed(voiceDeclaration, async () => (await import('@parley/voice')).voice),
  ],
  // The agent stops before identity, because the agent settles the cost of its model calls at identity.
  [listed(agentDeclaration, async () => (await import('@parley/agent')).agent, { replicas: 2 })],
  [
    listed(evaluationDeclaration, async () => (await import('@parley/evaluation')).evaluation),
    listed(exportDeclaration, async () => (await import('@parley/export')).studyKitExport),
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

/** The database schemas of all services, in the order in which units start. */
export const schemas: SchemaDeclaration[] = units.flatMap(({ schema }) => schema ?? []);

/** The topics of all services. */
export const topics: TopicDeclaration[] = units.flatMap(({ publishes }) => publishes ?? []);

function listed<Name extends string, Config extends UnitConfig>(
  declaration: DeclaredUnit<Name, Config>,
  load: ListedUnit<Name, Config>['load'],
  { replicas = 1, folder = `services/${declaration.name}` } = {},
): ListedUnit<Name, Config> {
  return { ...declaration, folder, replicas, load };
}

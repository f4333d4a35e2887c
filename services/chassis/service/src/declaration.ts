import type { TopicDeclaration } from '@parley/events/topics';
import type { SchemaDeclaration } from '@parley/postgres/database/types';
import {
  type Declared,
  type OnlyKeysOf,
  type UnitConfig,
  type UnitDeclaration,
  type WithoutDefaults,
  withDefaults,
} from '@parley/unit/declaration';

export interface PublishedTopic extends TopicDeclaration {
  /** Event types in the past tense, with their versions, e.g. `session.ended.v1`. */
  types: readonly [string, ...string[]];
}

/**
 * The declaration of a service. From the declaration alone, without the service's code, its schema can be migrated and its topics created.
 * The name is also the name of its schema and of its consumer group.
 */
export interface ServiceDeclaration<Name extends string = string, Config extends UnitConfig = UnitConfig>
  extends UnitDeclaration<Name, Config> {
  /** The service's tables and migrations; omitted if it has no database. */
  schema?: SchemaDeclaration;
  /** The service's events. Appending an event of another topic or type to the outbox throws. */
  publishes?: readonly PublishedTopic[];
  /** Event types of other services that this service consumes, including `tenant.deleted.v1` if it must react to deleted tenants. */
  consumes?: readonly string[];
  /** Whether the service keeps files, so that its process needs an object store. */
  keepsFiles?: boolean;
  /** Whether the service's schema has subscription fields, so that gateways need the address of its gRPC server. */
  hasSubscriptions?: boolean;
}

/** A declared unit: a service, or a unit without data. */
export type DeclaredUnit<Name extends string = string, Config extends UnitConfig = UnitConfig> = UnitDeclaration<
  Name,
  Config
> &
  Pick<ServiceDeclaration<Name, Config>, 'schema' | 'publishes' | 'consumes' | 'keepsFiles' | 'hasSubscriptions'>;

/**
 * Checks a declaration and adds its defaults.
 * @throws Error if the declaration contradicts itself
 */
export function declareService<const Given extends WithoutDefaults<ServiceDeclaration>>(
  given: Given & OnlyKeysOf<ServiceDeclaration, Given>,
): Declared<Given> {
  const { name, serves, schema, hasSubscriptions }: WithoutDefaults<ServiceDeclaration> = given;
  if (schema && schema.name !== name) throw new Error(`${name} declares the schema ${schema.name}; name it ${name}`);
  if (usesEvents(given) && !schema)
    throw new Error(`${name} publishes or consumes events and declares no schema for the outbox and the inbox`);
  if (hasSubscriptions && !serves.includes('rpc'))
    throw new Error(`${name} has subscriptions, which gateways follow by gRPC, and does not serve rpc`);
  return withDefaults<Given>(given);
}

/** Reports whether the service's process needs an event bus. */
export function usesEvents({
  publishes = [],
  consumes = [],
}: { [what in 'publishes' | 'consumes']?: readonly unknown[] }) {
  return publishes.length + consumes.length > 0;
}

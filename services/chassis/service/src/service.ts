import { readFileSync } from 'node:fs';
import { type EventReaction, eventConsumer, type Handler } from '@parley/events/consumer';
import type { EventBus } from '@parley/events/event-bus';
import type { Callers } from '@parley/kernel/caller';
import type { Environment } from '@parley/kernel/config';
import { productionLingerMs } from '@parley/kernel/http-drain';
import type { Logger } from '@parley/kernel/log';
import type { Part } from '@parley/kernel/unit';
import { untilReached } from '@parley/kernel/until-reached';
import { subscriptionRpc } from '@parley/live/subscriptions/subscription-rpc';
import type { ObjectStore } from '@parley/objects/object-store';
import type { Database } from '@parley/postgres/database/types';
import type { JobDeclaration } from '@parley/postgres/jobs/job';
import type { JobFailure } from '@parley/postgres/jobs/runner-types';
import { outboxRelay } from '@parley/postgres/outbox/relay';
import { tombstonesTable } from '@parley/postgres/tenant-tombstones';
import { SubscriptionServiceDefinition } from '@parley/protos/parley/live/v1/subscriptions';
import { type AddedTo, type MeshContext, rpcServer } from '@parley/rpc/server';
import type { UnitConfig } from '@parley/unit/declaration';
import { type Called, type DefinedUnit, defineUnit, type Provided } from '@parley/unit/define-unit';
import type { CompatServiceDefinition, ServiceImplementation } from 'nice-grpc';
import { databasePart } from './database-part.ts';
import type { ServiceDeclaration } from './declaration.ts';
import { observeDatabase } from './observe-database.ts';
import type { ServiceDependencies } from './service-dependencies.ts';
import type { ServiceGraph } from './service-graph.ts';
import { type OnTenantEnd, tenantDeleted, tenantEndJob, tenantEndReaction } from './tenant-end.ts';

export interface ServiceProvided<Config, Calls extends Called = Called>
  extends Omit<ServiceDependencies, 'database' | 'eventBus' | 'objectStore'>,
    Provided<Config, Calls> {
  /** @throws Error where the service declares no schema. */
  readonly database: Database;
  /** @throws Error where the service neither publishes nor consumes events. */
  readonly eventBus: EventBus;
  /** The objects of all tenants; use `tenantObjects` for work of one tenant. @throws Error where the service declares no files. */
  readonly objectStore: ObjectStore;
}

/** The code of a service; its `ServiceDeclaration` has the rest. */
export interface ServiceDefinition<
  Config extends UnitConfig,
  Calls extends Called,
  Deps,
  Rpc extends CompatServiceDefinition,
  Payloads,
> {
  calls?: Calls;
  /** Makes the dependencies of its use cases. Opens nothing. */
  dependencies(provided: ServiceProvided<Config, Calls>): Deps;
  /** Its own parts: started after clients and database, before relay, jobs, consumer and servers; stopped in reverse. */
  parts?(deps: Deps, provided: ServiceProvided<Config, NoInfer<Calls>>): Part[];
  /** Its background jobs. Appending a job of a kind that is not here throws. */
  jobs?: ((deps: Deps, config: Config) => JobDeclaration)[];
  /** Handlers of events of other services, by type. A handler commits the inbox row together with its effect. */
  consumes?: { [Type in keyof Payloads]: Consumed<Payloads[Type], Deps> };
  /** Connects its object store where it is a process of its own: `s3Files` of `@parley/s3`. Required where it declares `keepsFiles`. */
  files?(env: Environment): ObjectStore;
  /** What it does when a tenant is deleted. Required where it has tenant tables. */
  onTenantEnd?: OnTenantEnd<NoInfer<Deps>, Config>;
  rpc?: {
    definition: Rpc;
    implementation(deps: Deps): ServiceImplementation<Rpc, MeshContext>;
    /** Another service on the same port, for callers that another key signs: `separateRpc`. */
    separate?(deps: Deps, provided: ServiceProvided<Config, NoInfer<Calls>>): SeparateRpc | undefined;
    /** How long open calls may take when it stops, in ms, before they are cancelled. Default 10,000. */
    drainTimeoutMs?: number;
  };
  /** Its GraphQL: `subgraphOf` of `@parley/subgraph`. */
  graph?: ServiceGraph<NoInfer<Deps>>;
}

export interface SeparateRpc {
  definition: CompatServiceDefinition;
  callers: Callers;
  addTo(server: AddedTo): void;
}

/** A gRPC service that is closed to callers of the mesh. @param callers made of a key of its own */
export function separateRpc<Rpc extends CompatServiceDefinition>(
  definition: Rpc,
  implementation: ServiceImplementation<Rpc, MeshContext>,
  callers: Callers,
): SeparateRpc {
  return { definition, callers, addTo: (server) => server.add(definition, implementation) };
}

interface Consumed<Payload, Deps> extends Omit<EventReaction<Payload>, 'handle'> {
  handle(deps: Deps): Handler<Payload>;
}

export interface Service<
  Name extends string,
  Config extends UnitConfig,
  Deps,
  Rpc extends CompatServiceDefinition = CompatServiceDefinition,
> extends DefinedUnit<Name, Config, Deps, ServiceDependencies>,
    Pick<ServiceDeclaration, 'schema' | 'publishes' | 'keepsFiles'> {
  readonly rpc: Rpc | undefined;
  /** The events that it consumes, in the group of its name. */
  readonly consumes: readonly { topic: string; type: string }[];
  readonly files: ((env: Environment) => ObjectStore) | undefined;
}

/**
 * Defines a unit with a subgraph, gRPC or data. Beside what `defineUnit` makes it has the database, the relay of its events, runners of its jobs, a
 * consumer, and servers with health, metrics and, in development, reflection. Parts start in this order and stop in reverse:
 * operators' port, clients, database, own parts, relay, runners, consumer, gRPC, subgraph.
 * @throws Error where declaration and definition contradict each other.
 */
export function service<
  const Name extends string,
  Config extends UnitConfig,
  Deps,
  Calls extends Called = Record<string, never>,
  Rpc extends CompatServiceDefinition = CompatServiceDefinition,
  Payloads = Record<string, never>,
>(
  declaration: ServiceDeclaration<Name, Config>,
  definition: ServiceDefinition<Config, Calls, Deps, Rpc, Payloads>,
): Service<Name, Config, Deps, Rpc> {
  const { name, schema, publishes = [], keepsFiles = false } = declaration;
  const { calls, jobs = [], rpc, graph, onTenantEnd } = definition;
  const reactions = Object.entries((definition.consumes ?? {}) as Record<string, Consumed<unknown, Deps>>);
  const tenantEnd = onTenantEnd && 'close' in onTenantEnd ? onTenantEnd : undefined;
  const consumes = [...reactions.map(([type, { topic }]) => ({ topic, type })), ...(tenantEnd ? [tenantDeleted] : [])];
  const problem = problemOf(declaration, {
    ...definition,
    consumed: consumes.map(({ type }) => type),
    needsDatabase: jobs.length + reactions.length > 0,
  });
  if (problem) throw new Error(`${name}: ${problem}`);
  const hasEvents = publishes.length + consumes.length > 0;
  type Built = { deps: Deps; provided: ServiceProvided<Config, Calls>; database: Database | undefined };

  const defined = defineUnit<Name, Config, Built, Calls, ServiceDependencies>(declaration, {
    ...(calls && { calls }),
    dependencies(dependencies) {
      const database = schema && dependencies.database(schema);
      for (const { name: topic, types } of publishes) database?.registry.topics.set(topic, types);
      const provided: ServiceProvided<Config, Calls> = {
        ...dependencies,
        get database() {
          if (!database) throw new Error(`${name} declares no schema`);
          return database;
        },
        get eventBus() {
          if (!hasEvents) throw new Error(`${name} declares no events`);
          return dependencies.eventBus;
        },
        get objectStore() {
          if (!keepsFiles) throw new Error(`${name} does not declare that it keeps files`);
          return dependencies.objectStore;
        },
      };
      return { deps: definition.dependencies(provided), provided, database };
    },
    parts: ({ deps, provided, database }, { migrateOnStart }) => [
      ...(database ? [databasePart(database, { migrateOnStart })] : []),
      ...(keepsFiles ? [reached('S3', () => provided.objectStore.ping(), provided.log)] : []),
      ...(hasEvents ? [reached('Kafka', async () => provided.eventBus.ping?.(), provided.log)] : []),
      ...(definition.parts?.(deps, provided) ?? []),
      ...(database ? databaseWorkers(deps, provided) : []),
    ],
    servers: ({ deps, provided }) => serversOf(deps, provided),
  });

  function databaseWorkers(deps: Deps, provided: ServiceProvided<Config, Calls>): Part[] {
    const { config, database, keyValue, log, metrics, soleOwner } = provided;
    const declared = jobs.map((declare) => declare(deps, config));
    if (tenantEnd?.finish) declared.push(tenantEndJob(name, tenantEnd, deps, config));
    const kinds = declared.map(({ kind }) => kind);
    const twice = kinds.find((kind, index) => kinds.indexOf(kind) !== index);
    if (twice !== undefined) throw new Error(`${name}: it declares jobs of the kind ${twice} twice`);
    const failures =
      declared.length > 0
        ? metrics.counter('parley_job_failures_total', 'Attempts at jobs that failed, by what became of the job', [
            'kind',
            'outcome',
          ])
        : undefined;
    const runners = declared.map(({ kind, gauge, runner: make }) => {
      // Alerts see the first one only if there was a value before.
      for (const outcome of ['retried', 'given_up']) failures?.add({ kind, outcome }, 0);
      const onFailure = (outcome: JobFailure) => failures?.add({ kind, outcome });
      const runner = make({ database, soleOwner, notifier: keyValue, onFailure, log });
      if (gauge) metrics.gauge(gauge.name, gauge.help, () => runner.running);
      return runner;
    });
    observeDatabase(database, kinds, metrics);
    const handlers = Object.fromEntries([
      ...reactions.map(([type, { handle, ...reaction }]) => [type, { ...reaction, handle: handle(deps) }]),
      ...(tenantEnd ? [[tenantDeleted.type, tenantEndReaction(name, tenantEnd, database)]] : []),
    ]) as Record<string, EventReaction<unknown>>;
    return [
      ...(publishes.length > 0 ? [outboxRelay({ database, bus: provided.eventBus, soleOwner, log, metrics })] : []),
      ...runners,
      ...(Object.keys(handlers).length > 0
        ? [eventConsumer({ bus: provided.eventBus, group: name, database, handlers, log, metrics })]
        : []),
    ];
  }

  function serversOf(deps: Deps, provided: ServiceProvided<Config, Calls>): Part[] {
    const { addresses, callers, config, development, host, log, mesh, metrics } = provided;
    const announce = (endpoint: 'rpc' | 'graph') => (address: string) => addresses.announce(name, endpoint, address);
    const common = { unit: name, host, callers, log, mesh, metrics };
    const subscriptions = graph?.subscriptions?.(deps);
    const servers: Part[] = [];
    if (rpc) {
      const separate = rpc.separate?.(deps, provided);
      const definitions: CompatServiceDefinition[] = [
        rpc.definition,
        ...(separate ? [separate.definition] : []),
        ...(subscriptions ? [SubscriptionServiceDefinition] : []),
      ];
      servers.push(
        rpcServer({
          ...common,
          port: config.rpcPort ?? 0,
          services(server, signedBy) {
            server.add(rpc.definition, rpc.implementation(deps));
            separate?.addTo(signedBy(separate.callers));
            if (subscriptions) server.add(SubscriptionServiceDefinition, subscriptionRpc(subscriptions));
          },
          ...(rpc.drainTimeoutMs !== undefined && { drainTimeoutMs: rpc.drainTimeoutMs }),
          reflection: development ? { image: protoImage, services: definitions.map(fullNameOf) } : undefined,
          onListening: announce('rpc'),
        }),
      );
    }
    if (graph) {
      servers.push(
        graph.server(deps, Object.keys(subscriptions ?? {}), {
          ...common,
          port: config.graphPort ?? 0,
          lingerMs: development ? 0 : productionLingerMs,
          ...(config.maxAnswerBytes !== undefined && { maxAnswerBytes: config.maxAnswerBytes }),
          onListening: announce('graph'),
        }),
      );
    }
    return servers;
  }

  return {
    ...declaration,
    rpc: rpc?.definition,
    calls: defined.calls,
    uses: defined.uses,
    consumes,
    files: definition.files,
    unit(config, dependencies, options) {
      const built = defined.unit(config, dependencies, options);
      return { ...built, deps: built.deps.deps };
    },
  };
}

/** Why a declaration and a definition contradict each other; undefined where they do not. */
function problemOf(
  { serves, schema, keepsFiles = false, hasSubscriptions = false, consumes: declared = [] }: ServiceDeclaration,
  definition: {
    consumed: string[];
    files?: unknown;
    consumes?: object;
    rpc?: unknown;
    graph?: { subscriptions?: unknown };
    onTenantEnd?: object;
    needsDatabase: boolean;
  },
): string | undefined {
  for (const endpoint of ['rpc', 'graph'] as const) {
    if (serves.includes(endpoint) !== (definition[endpoint] !== undefined)) {
      return definition[endpoint]
        ? `it defines ${endpoint}, so declare that it serves ${endpoint}`
        : `it serves ${endpoint} and defines none`;
    }
  }
  const { onTenantEnd } = definition;
  const closesTenants = onTenantEnd !== undefined && 'close' in onTenantEnd;
  if (closesTenants && tenantDeleted.type in (definition.consumes ?? {})) {
    return `onTenantEnd consumes ${tenantDeleted.type}, so leave that out of consumes`;
  }
  if (hasSubscriptions !== (definition.graph?.subscriptions !== undefined)) {
    return hasSubscriptions
      ? 'it declares that it has subscriptions, and defines none'
      : 'it defines subscriptions, so declare hasSubscriptions';
  }
  if (definition.graph?.subscriptions && !definition.rpc) return 'gateways follow subscriptions by gRPC, so define rpc';
  if (definition.needsDatabase && !schema) return 'jobs and consumed events are stored, so declare a schema';
  const tables = schema?.tables ?? {};
  if (!onTenantEnd && Object.values(tables).includes('tenant')) {
    return 'it keeps rows of tenants, so declare onTenantEnd: what becomes of a deleted one, or why nothing has to';
  }
  if (closesTenants && tables[tombstonesTable] !== 'tenant') {
    return `onTenantEnd marks deleted tenants in the table ${tombstonesTable}: declare it as a tenant table (tombstonesMigration makes it)`;
  }
  const undeclared = definition.consumed.find((type) => !declared.includes(type));
  if (undeclared !== undefined) return `it consumes ${undeclared}, so declare that`;
  const unused = declared.find((type) => !definition.consumed.includes(type));
  if (unused !== undefined) return `it declares that it consumes ${unused}, and does not`;
  if (keepsFiles && !definition.files)
    return 'it declares that it keeps files, so define files (s3Files of @parley/s3)';
  if (!keepsFiles && definition.files) return 'it defines files, so declare keepsFiles';
  return undefined;
}

/** What it does with the engine is retried in an outage, so only one that was never reached keeps the unit from being ready. */
function reached(engine: string, ping: () => Promise<void>, log: Logger): Part {
  return {
    name: engine,
    start: async () => undefined,
    stop: async () => undefined,
    ready: untilReached(engine, ping, log),
  };
}

function fullNameOf(definition: CompatServiceDefinition): string {
  return String((definition as { fullName?: unknown }).fullName);
}

function protoImage(): Uint8Array {
  return readFileSync(new URL(import.meta.resolve('@parley/protos/image.binpb')));
}

import { readFileSync } from 'node:fs';
import { SubscriptionServiceDefinition } from '@parley/protos/parley/live/v1/subscriptions';
import { Kind, parse } from 'graphql';
import type { CompatServiceDefinition, ServiceImplementation } from 'nice-grpc';
import type { Database } from './database/types.ts';
import type { UnitConfig, UnitDeclaration } from './declaration.ts';
import { type EventReaction, eventConsumer, type Handler } from './events/consumer.ts';
import { outboxRelay } from './events/relay.ts';
import { type GraphContext, type SubgraphOptions, subgraph } from './graph/subgraph.ts';
import type { JobDeclaration } from './jobs/job.ts';
import { type SubscriptionField, subscriptionRpc } from './live/subscription-rpc.ts';
import { createLogger, type Logger } from './log.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { opsServer } from './ops.ts';
import { type RpcClient, type RpcClientPart, rpcClient } from './rpc/client.ts';
import { type MeshContext, rpcServer } from './rpc/server.ts';
import { databasePart, type Surroundings } from './surroundings.ts';
import { type OnTenantEnd, tenantDeleted, tenantEndJob, tenantEndReaction } from './tenant-end.ts';
import { tombstonesTable } from './tenant-tombstones.ts';
import { type Part, type Unit, unit } from './unit.ts';

/** The gRPC services that a unit calls, by the name of the unit that serves each. */
type Called = Record<string, CompatServiceDefinition>;

/** What a service makes its own dependencies from. */
export interface Provided<Config, Calls extends Called = Called> extends Omit<Surroundings, 'database'> {
  config: Config;
  /** @throws Error where the service declares no schema. */
  readonly database: Database;
  /** Clients of the units in `calls`. They may be handed on at once, and called once the service starts. */
  calls: { readonly [Name in keyof Calls]: RpcClient<Calls[Name]> };
  log: Logger;
  metrics: Metrics;
}

/** What a service does; what it is stands in its `UnitDeclaration`. */
export interface ServiceDefinition<
  Config extends UnitConfig,
  Calls extends Called,
  Deps,
  Rpc extends CompatServiceDefinition,
  Context extends GraphContext,
  Payloads,
> {
  /** The gRPC service of each unit that it calls. */
  calls?: Calls;
  /** Makes what all of its use cases work with. Opens nothing. */
  dependencies(provided: Provided<Config, Calls>): Deps;
  /** What it has to open and close beside what follows here: started before that, and stopped after it. */
  parts?(deps: Deps, provided: Provided<Config, NoInfer<Calls>>): Part[];
  /** What it does slowly. A job finds its runner by its kind, and is refused where there is none. */
  jobs?: ((deps: Deps, config: Config) => JobDeclaration)[];
  /** What it does at events of other services, by type. A handler commits the inbox mark together with its effect. */
  consumes?: { [Type in keyof Payloads]: Consumed<Payloads[Type], Deps> };
  /** What it does when a tenant is deleted. Required where it keeps rows of tenants. */
  onTenantEnd?: OnTenantEnd<Deps, Config>;
  rpc?: {
    definition: Rpc;
    implementation(deps: Deps): ServiceImplementation<Rpc, MeshContext>;
    /** How long open calls may take to end when it stops, before they are cut, in ms. Default 10 s. */
    drainTimeoutMs?: number;
  };
  graph?: {
    /** Its own SDL. */
    schema: URL;
    resolvers: SubgraphOptions<Context>['resolvers'];
    /** Its fields of Subscription, by name. Gateways follow them by gRPC, so it serves that as well. */
    subscriptions?(deps: Deps): Record<string, SubscriptionField>;
    context(deps: Deps): SubgraphOptions<Context>['context'];
  };
}

/** An event of another service. */
interface Consumed<Payload, Deps> extends Omit<EventReaction<Payload>, 'handle'> {
  handle(deps: Deps): Handler<Payload>;
}

export interface Service<
  Name extends string,
  Config extends UnitConfig,
  Deps,
  Rpc extends CompatServiceDefinition = CompatServiceDefinition,
> extends UnitDeclaration<Name, Config> {
  /** What it serves over gRPC. */
  readonly rpc: Rpc | undefined;
  /** The units that it calls. */
  readonly calls: readonly string[];
  /** The topics that it consumes, as the group of its name. */
  readonly consumes: readonly string[];
  unit(config: Config, around: Surroundings, options?: UnitOptions): ServiceUnit<Deps>;
}

export interface UnitOptions {
  /** Default: one of its name. */
  log?: Logger;
  /** False leaves out its servers, for tests that call its use cases. Default true. */
  servers?: boolean;
}

/** A unit with what its use cases work with. */
export interface ServiceUnit<Deps> extends Unit {
  deps: Deps;
}

/**
 * Builds a unit of what it is and what it does: servers with health, readiness, metrics and, in development, reflection; the
 * database; clients of other units; the relay of its events; runners of its jobs; a consumer. They start in this order: operators'
 * port, database, clients, own parts, relay, runners, consumer, rpc, graph; and stop in the other.
 * @throws Error where declaration and definition do not fit together.
 */
export function service<
  const Name extends string,
  Config extends UnitConfig,
  Deps,
  Calls extends Called = Record<string, never>,
  Rpc extends CompatServiceDefinition = CompatServiceDefinition,
  Context extends GraphContext = GraphContext,
  Payloads = Record<string, never>,
>(
  declaration: UnitDeclaration<Name, Config>,
  definition: ServiceDefinition<Config, Calls, Deps, Rpc, Context, Payloads>,
): Service<Name, Config, Deps, Rpc> {
  const { name, schema, publishes = [] } = declaration;
  const { calls = {} as Calls, jobs = [], rpc, graph, onTenantEnd } = definition;
  const reactions = Object.entries((definition.consumes ?? {}) as Record<string, Consumed<unknown, Deps>>);
  const tenantEnd = onTenantEnd && 'close' in onTenantEnd ? onTenantEnd : undefined;
  const problem = problemOf(declaration, { ...definition, needsDatabase: jobs.length + reactions.length > 0 });
  if (problem) throw new Error(`${name}: ${problem}`);

  function build(config: Config, around: Surroundings, options: UnitOptions = {}): ServiceUnit<Deps> {
    const { addresses, callers, host, soleOwner, eventBus: bus } = around;
    const { log = createLogger(name), servers = true } = options;
    const metrics = createMetrics(name);
    const announce = (door: 'ops' | 'rpc' | 'graph') => (address: string) => addresses.announce(name, door, address);
    const common = { unit: name, host, callers, log, metrics };
    const database = schema && around.database(schema);
    for (const { name: topic } of publishes) database?.registry.topics.add(topic);

    const clients = Object.entries(calls).map(([called, client]): [string, RpcClientPart<CompatServiceDefinition>] => [
      called,
      rpcClient({ definition: client, unit: called, address: () => addresses.of(called, 'rpc'), callers }),
    ]);
    const provided: Provided<Config, Calls> = {
      ...around,
      config,
      log,
      metrics,
      calls: Object.fromEntries(clients.map(([called, client]) => [called, client.calls])) as Provided<
        Config,
        Calls
      >['calls'],
      get database() {
        if (!database) throw new Error(`${name} declares no schema`);
        return database;
      },
    };
    const deps = definition.dependencies(provided);

    const stored = database ? storedParts(database) : [];
    function storedParts(database: Database): Part[] {
      const declared = jobs.map((declare) => declare(deps, config));
      if (tenantEnd) declared.push(tenantEndJob(name, tenantEnd, deps, config));
      const kinds = declared.map(({ kind }) => kind);
      const twice = kinds.find((kind, index) => kinds.indexOf(kind) !== index);
      if (twice !== undefined) throw new Error(`${name}: it declares jobs of the kind ${twice} twice`);
      const runners = declared.map(({ gauge, runner: make }) => {
        const runner = make({ database, soleOwner, notifier: around.keyValue, log });
        if (gauge) metrics.gauge(gauge.name, gauge.help, () => runner.running);
        return runner;
      });
      const handlers = Object.fromEntries([
        ...reactions.map(([type, { handle, ...reaction }]) => [type, { ...reaction, handle: handle(deps) }]),
        ...(tenantEnd ? [[tenantDeleted.type, tenantEndReaction(name, tenantEnd, database)]] : []),
      ]) as Record<string, EventReaction<unknown>>;
      return [
        ...(publishes.length > 0 ? [outboxRelay({ database, bus, soleOwner, log, metrics })] : []),
        ...runners,
        ...(Object.keys(handlers).length > 0
          ? [eventConsumer({ bus, group: name, database, handlers, log, metrics })]
          : []),
      ];
    }

    const serving: Part[] = [];
    const typeDefs = graph && readFileSync(graph.schema, 'utf8');
    const subscriptions = graph?.subscriptions?.(deps);
    const [declared, served] = [
      subscriptionsOf(typeDefs ?? ''),
      Object.keys(subscriptions ?? {})
        .sort()
        .join(),
    ];
    if (declared !== served)
      throw new Error(`${name}: its schema has the subscriptions "${declared}", it serves "${served}"`);
    if (rpc) {
      const definitions = [rpc.definition, ...(subscriptions ? [SubscriptionServiceDefinition] : [])];
      serving.push(
        rpcServer({
          ...common,
          port: config.rpcPort ?? 0,
          services(server) {
            server.add(rpc.definition, rpc.implementation(deps));
            if (subscriptions) server.add(SubscriptionServiceDefinition, subscriptionRpc(subscriptions));
          },
          ...(rpc.drainTimeoutMs !== undefined && { drainTimeoutMs: rpc.drainTimeoutMs }),
          reflection: around.development ? { image: protoImage(), services: definitions.map(fullNameOf) } : undefined,
          onListening: announce('rpc'),
        }),
      );
    }
    if (graph) {
      serving.push(
        subgraph<Context>({
          ...common,
          port: config.graphPort ?? 0,
          typeDefs: typeDefs ?? '',
          resolvers: graph.resolvers,
          context: graph.context(deps),
          ...(config.maxAnswerBytes !== undefined && { maxAnswerBytes: config.maxAnswerBytes }),
          onListening: announce('graph'),
        }),
      );
    }
    const ops = opsServer({ ...common, port: config.opsPort, ready: () => self.ready(), onListening: announce('ops') });
    const self = unit(name, [
      ...(servers ? [ops] : []),
      ...(database ? [databasePart(database, around)] : []),
      ...clients.map(([, client]) => client),
      ...(definition.parts?.(deps, provided) ?? []),
      ...stored,
      ...(servers ? serving : []),
    ]);
    return { ...self, deps };
  }

  const topics = reactions.map(([, { topic }]) => topic);
  return {
    ...declaration,
    rpc: rpc?.definition,
    calls: Object.keys(calls),
    consumes: [...new Set([...topics, ...(tenantEnd ? [tenantDeleted.topic] : [])])],
    unit: build,
  };
}

/** Why a declaration and a definition do not fit together; undefined where they do. */
function problemOf(
  { serves, schema, calls = [] }: UnitDeclaration,
  given: {
    calls?: object;
    consumes?: object;
    rpc?: unknown;
    graph?: { subscriptions?: unknown };
    onTenantEnd?: object;
    needsDatabase: boolean;
  },
): string | undefined {
  for (const door of ['rpc', 'graph'] as const) {
    if (serves.includes(door) !== (given[door] !== undefined)) {
      return given[door]
        ? `it defines ${door}, so declare that it serves ${door}`
        : `it serves ${door} and defines none`;
    }
  }
  if (given.onTenantEnd && 'close' in given.onTenantEnd && tenantDeleted.type in (given.consumes ?? {})) {
    return `onTenantEnd consumes ${tenantDeleted.type}, so leave that out of consumes`;
  }
  const called = Object.keys(given.calls ?? {});
  const wrong = [...calls, ...called].find((name) => !calls.includes(name) || !called.includes(name));
  if (wrong !== undefined) {
    return called.includes(wrong)
      ? `it calls ${wrong}, so declare that`
      : `it declares that it calls ${wrong}, and does not`;
  }
  if (given.graph?.subscriptions && !given.rpc) return 'gateways follow subscriptions by gRPC, so define rpc';
  if (given.needsDatabase && !schema) return 'jobs and consumed events are stored, so declare a schema';
  const tables = schema?.tables ?? {};
  if (!given.onTenantEnd && Object.values(tables).includes('tenant')) {
    return 'it keeps rows of tenants, so declare onTenantEnd: what becomes of a deleted one, or why nothing has to';
  }
  if (given.onTenantEnd && 'close' in given.onTenantEnd && tables[tombstonesTable] !== 'tenant') {
    return `onTenantEnd marks deleted tenants in the table ${tombstonesTable}: declare it as a tenant table (tombstonesMigration makes it)`;
  }
  return undefined;
}

/** The fields of Subscription, sorted and joined. */
function subscriptionsOf(typeDefs: string): string {
  const definitions = typeDefs === '' ? [] : parse(typeDefs, { noLocation: true }).definitions;
  const fields = definitions.flatMap((each) => {
    const isObject = each.kind === Kind.OBJECT_TYPE_DEFINITION || each.kind === Kind.OBJECT_TYPE_EXTENSION;
    return isObject && each.name.value === 'Subscription' ? (each.fields ?? []) : [];
  });
  return fields
    .map(({ name }) => name.value)
    .sort()
    .join();
}

function fullNameOf(definition: CompatServiceDefinition): string {
  return String((definition as { fullName?: unknown }).fullName);
}

/** What reflection describes the services by. */
function protoImage(): Uint8Array {
  return readFileSync(new URL(import.meta.resolve('@parley/protos/image.binpb')));
}

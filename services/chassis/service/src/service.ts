import { readFileSync } from 'node:fs';
import { type EventReaction, eventConsumer } from '@parley/events/consumer';
import { productionLingerMs } from '@parley/kernel/http/http-drain';
import type { UnitPart } from '@parley/kernel/processes/unit';
import type { Environment } from '@parley/kernel/settings/config';
import type { Logger } from '@parley/kernel/telemetry/log';
import { untilReached } from '@parley/kernel/timing/until-reached';
import { subscriptionRpc } from '@parley/live/subscriptions/subscription-rpc';
import type { ObjectStore } from '@parley/objects/object-store';
import type { Database } from '@parley/postgres/database/types';
import type { JobFailure } from '@parley/postgres/jobs/runner-types';
import { outboxRelay } from '@parley/postgres/outbox/relay';
import { tombstonesTable } from '@parley/postgres/tenant-tombstones';
import { SubscriptionServiceDefinition } from '@parley/protos/parley/live/v1/subscriptions';
import { rpcServer } from '@parley/rpc/server';
import type { ConfigOf, UnitConfig } from '@parley/unit/declaration';
import { type DefinedUnit, defineUnit, type Provided } from '@parley/unit/define-unit';
import type { CompatServiceDefinition } from 'nice-grpc';
import { databasePart } from './database-part.ts';
import { type ServiceDeclaration, usesEvents } from './declaration.ts';
import { observeDatabase } from './observe-database.ts';
import type { NoDependencies, ServiceCode, ServiceDefinition, ServiceProvided } from './service-definition.ts';
import type { ServiceDependencies } from './service-dependencies.ts';
import { tenantDeleted, tenantEndJob, tenantEndReaction } from './tenant-end.ts';

export interface Service<
  Name extends string,
  Config extends UnitConfig,
  Deps,
  Rpc extends CompatServiceDefinition = CompatServiceDefinition,
> extends DefinedUnit<Name, Config, Deps, ServiceDependencies>,
    Pick<ServiceDeclaration, 'schema' | 'publishes' | 'keepsFiles'> {
  readonly rpc: Rpc | undefined;
  /** The events that the service consumes. Its consumer group has the name of the service. */
  readonly consumes: readonly { topic: string; type: string }[];
  readonly files: ((env: Environment) => ObjectStore) | undefined;
}

/**
 * Defines a unit with a subgraph, gRPC or data. In addition to the parts of `defineUnit` it has the database, the relay of its events,
 * runners of its jobs, a consumer, and servers with health, metrics and, in development, reflection. Parts start in this order and stop in
 * reverse: operators' port, clients, database, own parts, relay, runners, consumer, gRPC, subgraph.
 * @throws Error if tables or subscriptions require code that is missing.
 */
export function service<
  const Declaration extends ServiceDeclaration,
  Deps = NoDependencies,
  Rpc extends CompatServiceDefinition = CompatServiceDefinition,
  Payloads = unknown,
>(
  declaration: Declaration,
  definition: ServiceDefinition<Declaration, Deps, Rpc, Payloads>,
): Service<Declaration['name'], ConfigOf<Declaration>, Deps, Rpc>;
export function service<Deps>(
  declaration: ServiceDeclaration,
  definition: ServiceCode<ServiceDeclaration, Deps>,
): Service<string, UnitConfig, Deps> {
  type Given = ServiceProvided<ServiceDeclaration>;
  type Built = { deps: Deps; given: Given; database: Database | undefined };
  type Connected = ServiceDependencies & Provided<ServiceDeclaration>;
  const { name, schema, publishes = [], keepsFiles = false } = declaration;
  const { jobs = [], rpc, graph, onTenantEnd } = definition;
  const reactions = Object.entries(definition.consumes ?? {});
  const tenantEnd = onTenantEnd && 'close' in onTenantEnd ? onTenantEnd : undefined;
  const consumes = [...reactions.map(([type, { topic }]) => ({ topic, type })), ...(tenantEnd ? [tenantDeleted] : [])];
  const problem = problemOf(declaration, definition);
  if (problem) throw new Error(`${name}: ${problem}`);

  const defined = defineUnit<ServiceDeclaration, Built, ServiceDependencies>(declaration, {
    dependencies(provided) {
      const database = schema && provided.database(schema);
      for (const { name: topic, types } of publishes) database?.registry.topics.set(topic, types);
      const given: Given = Object.assign({ ...provided }, { database });
      return { deps: definition.dependencies?.(given) ?? ({} as Deps), given, database };
    },
    parts: ({ deps, given, database }, provided) => [
      ...(database ? [databasePart(database, provided)] : []),
      ...(keepsFiles ? [reached('S3', () => provided.objectStore.ping(), provided.log)] : []),
      ...(usesEvents(declaration) ? [reached('Kafka', async () => provided.eventBus.ping?.(), provided.log)] : []),
      ...(definition.parts?.(deps, given) ?? []),
      ...(database ? databaseWorkers(deps, provided, database) : []),
    ],
    servers: ({ deps, given }) => serversOf(deps, given),
  });

  function databaseWorkers(deps: Deps, provided: Connected, database: Database): UnitPart[] {
    const { config, keyValue, log, metrics, soleOwner } = provided;
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
      // The counters start at 0, because alerts notice the first increment only if the counter already has a value.
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

  function serversOf(deps: Deps, provided: Given): UnitPart[] {
    const { addresses, callers, config, development, host, log, mesh, metrics } = provided;
    const announce = (endpoint: 'rpc' | 'graph') => (address: string) => addresses.announce(name, endpoint, address);
    const common = { unit: name, host, callers, log, mesh, metrics };
    const subscriptions = graph?.subscriptions?.(deps);
    const servers: UnitPart[] = [];
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

/** Returns why a service cannot be built, for conditions that its type cannot express; undefined if it can be built. */
function problemOf(
  { schema, hasSubscriptions = false }: ServiceDeclaration,
  { onTenantEnd, graph }: Pick<ServiceCode<ServiceDeclaration, never>, 'onTenantEnd' | 'graph'>,
): string | undefined {
  if (hasSubscriptions !== (graph?.subscriptions !== undefined)) {
    return hasSubscriptions
      ? 'it declares that it has subscriptions, and defines none'
      : 'it defines subscriptions, so declare hasSubscriptions';
  }
  const tables = schema?.tables ?? {};
  if (!onTenantEnd && Object.values(tables).includes('tenant')) {
    return 'it keeps rows of tenants, so declare onTenantEnd: what becomes of a deleted one, or why nothing has to';
  }
  if (onTenantEnd && 'close' in onTenantEnd && tables[tombstonesTable] !== 'tenant') {
    return `onTenantEnd marks deleted tenants in the table ${tombstonesTable}: declare it as a tenant table (tombstonesMigration makes it)`;
  }
  return undefined;
}

/**
 * The unit is not ready until the engine was reached once. A later outage does not affect readiness, because work with the engine is
 * retried.
 */
function reached(engine: string, ping: () => Promise<void>, log: Logger): UnitPart {
  return { name: engine, stop: async () => undefined, ready: untilReached(engine, ping, log) };
}

function fullNameOf(definition: CompatServiceDefinition): string {
  return String((definition as { fullName?: unknown }).fullName);
}

function protoImage(): Uint8Array {
  return readFileSync(new URL(import.meta.resolve('@parley/protos/image.binpb')));
}

import { randomBytes } from 'node:crypto';
import { inProcessEventBus } from '@parley/events/in-process-event-bus';
import { type Caller, callerHeader, createCallers } from '@parley/kernel/caller';
import { createAddresses } from '@parley/kernel/processes/addresses';
import type { Environment } from '@parley/kernel/settings/config';
import { memoryEventLog } from '@parley/live/event-log/memory-event-log';
import { memoryKeyValue } from '@parley/live/key-value/memory-key-value';
import { absentObjectStore } from '@parley/objects/object-store';
import type { Database } from '@parley/postgres/database/types';
import { type RpcClientPart, rpcClient } from '@parley/rpc/client';
import type { Service } from '@parley/service/service';
import type { ServiceDependencies } from '@parley/service/service-dependencies';
import type { UnitConfig } from '@parley/unit/declaration';
import type { BuiltUnit, UnitOptions } from '@parley/unit/define-unit';
import type { ExecutionContext } from 'ava';
import type { CompatServiceDefinition } from 'nice-grpc';
import { testSchema } from './test-schema.ts';

/** Dependencies for tests: engines in memory, and no other units than those announced in `addresses`. */
export function testDependencies(overrides: Partial<ServiceDependencies> = {}): ServiceDependencies {
  return {
    database: () => {
      throw new Error('this test has no database');
    },
    keyValue: memoryKeyValue(),
    eventLog: memoryEventLog(),
    eventBus: inProcessEventBus({ deadLetters: { append: () => Promise.reject(new Error('none is expected')) } }),
    objectStore: absentObjectStore(),
    addresses: createAddresses({}),
    callers: createCallers(randomBytes(32)),
    host: '127.0.0.1',
    migrateOnStart: false,
    soleOwner: false,
    development: true,
    ...overrides,
  };
}

export interface ServiceOptions extends UnitOptions {
  /** The unit's settings. */
  env?: Environment;
  /** Replacements for dependencies of `testDependencies`. */
  dependencies?: Partial<ServiceDependencies>;
  /** The service's database. Default: a schema for this test, if the service has a schema. */
  database?: Database;
  /** Whether the database is migrated beforehand; otherwise the unit migrates it. Default true. */
  migrated?: boolean;
}

/** The response of a subgraph. */
export interface GraphAnswer {
  data?: Record<string, unknown> | null;
  errors?: { message: string; path?: unknown[]; extensions: Record<string, unknown> }[];
}

/** If `Rpc` was not inferred, the service has no gRPC. */
type Calls<Rpc extends CompatServiceDefinition> = CompatServiceDefinition extends Rpc
  ? undefined
  : RpcClientPart<Rpc>['calls'];

export interface RunningService<Deps, Rpc extends CompatServiceDefinition> {
  unit: BuiltUnit<Deps>;
  dependencies: ServiceDependencies;
  /**
   * The service's database.
   * @throws Error if the service has no schema.
   */
  readonly database: Database;
  /** Calls the gRPC service; undefined if the service defines none. */
  rpc: Calls<Rpc>;
  /** Queries the service's subgraph. */
  graph(caller: Caller, query: string, variables?: object): Promise<GraphAnswer>;
  /** Queries the subgraph as `graph` does, but returns the HTTP response. Without a caller no token is sent. */
  askGraph(caller: Caller | null, query: string, variables?: object): Promise<Response>;
}

/** Starts a service on loopback, with a new schema if it has one. The test's teardown stops the service and removes the schema. */
export async function startService<
  Name extends string,
  Config extends UnitConfig,
  Deps,
  Rpc extends CompatServiceDefinition,
>(
  t: Pick<ExecutionContext, 'teardown'>,
  service: Service<Name, Config, Deps, Rpc>,
  { env = {}, migrated = true, ...options }: ServiceOptions = {},
): Promise<RunningService<Deps, Rpc>> {
  const { name, schema, rpc: definition } = service;
  const database = options.database ?? (schema && (await testSchema(t, schema, { migrate: migrated })));
  const dependencies = testDependencies({
    ...(database && { database: () => database }),
    migrateOnStart: !migrated,
    ...options.dependencies,
  });
  const { addresses, callers } = dependencies;
  const unit = service.unit(service.readConfig(env), dependencies, options);
  await unit.start();
  t.teardown(() => unit.stop().catch(() => undefined));
  const address = () => addresses.of(name, 'rpc');
  const client = definition && rpcClient({ definition, unit: name, address, callers });
  if (client && options.servers !== false) {
    await client.start();
    t.teardown(() => client.stop());
  }
  return {
    unit,
    dependencies,
    get database() {
      if (!database) throw new Error(`${name} has no schema`);
      return database;
    },
    rpc: client?.calls as Calls<Rpc>,
    graph: async (...request) => (await (await askGraph(...request)).json()) as GraphAnswer,
    askGraph,
  };

  async function askGraph(caller: Caller | null, query: string, variables: object = {}): Promise<Response> {
    const headers = {
      'content-type': 'application/json',
      ...(caller && { [callerHeader]: await callers.mint(caller, name) }),
    };
    const body = JSON.stringify({ query, variables });
    return fetch(addresses.of(name, 'graph'), { method: 'POST', headers, body });
  }
}

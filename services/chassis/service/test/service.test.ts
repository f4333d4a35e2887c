import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Envelope } from '@parley/events/envelope';
import { type Caller, createCallers } from '@parley/kernel/caller';
import { listSettings } from '@parley/kernel/settings/settings';
import { portSettings } from '@parley/kernel/settings/shared-settings';
import { createLogger } from '@parley/kernel/telemetry/log';
import { absentObjectStore } from '@parley/objects/object-store';
import type { Database } from '@parley/postgres/database/types';
import { job } from '@parley/postgres/jobs/job';
import { jobs } from '@parley/postgres/jobs/jobs';
import { leaseTimes } from '@parley/postgres/jobs/lease-times';
import { outbox } from '@parley/postgres/outbox/outbox';
import { tenantTombstones, tombstonesMigration } from '@parley/postgres/tenant-tombstones';
import {
  EvaluationServiceDefinition,
  type EvaluationServiceImplementation,
} from '@parley/protos/parley/evaluation/v1/evaluation';
import { TenantDeleted } from '@parley/protos/parley/identity/v1/events';
import { SessionServiceDefinition, type SessionServiceImplementation } from '@parley/protos/parley/session/v1/session';
import { rpcClient } from '@parley/rpc/client';
import type { MeshContext } from '@parley/rpc/server';
import type { GraphContext, PortsContext } from '@parley/subgraph/subgraph';
import { subgraphOf } from '@parley/subgraph/subgraph-of';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import { notesSchema } from '@parley/testing/notes-schema';
import { startService, testDependencies } from '@parley/testing/service-harness';
import { stubRpc } from '@parley/testing/stub-rpc';
import { testSchema } from '@parley/testing/test-schema';
import type { UnitConfig } from '@parley/unit/declaration';
import test, { type ExecutionContext } from 'ava';
import { declareService } from '../src/declaration.ts';
import { service } from '../src/service.ts';
import { separateRpc } from '../src/service-definition.ts';
import { type TenantClosing, type TenantEnd, tenantDeleted } from '../src/tenant-end.ts';

const silent = createLogger('notes', { LOG_LEVEL: 'silent' });
const readConfig = () => ({ opsPort: 0 });
const notes = declareService({ name: 'notes', serves: [], settings: {}, readConfig, schema: notesSchema });
const keeping = { nothingBecause: 'notes need no end' };
const rpc = {
  definition: EvaluationServiceDefinition,
  implementation: () =>
    stubRpc<EvaluationServiceImplementation<MeshContext>>(EvaluationServiceDefinition, {
      getEvaluation: async () => ({ evaluation: undefined }),
    }),
};
const nothing = () => ({});

function temporaryFile(t: ExecutionContext, name: string, text: string): URL {
  const folder = mkdtempSync(join(tmpdir(), 'parley-service-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const file = pathToFileURL(join(folder, name));
  writeFileSync(file, text);
  return file;
}

test('a declaration that contradicts itself is refused', (t) => {
  const refused = (build: () => unknown, message: string) => t.throws(build, { message });
  const bare = { name: 'bare', serves: [], settings: {}, readConfig } as const;

  refused(() => declareService({ ...bare, schema: notesSchema }), 'bare declares the schema notes; name it bare');
  refused(
    () => declareService({ ...bare, serves: ['graph'], settings: portSettings('other', ['graph']) }),
    'bare serves graph and has no setting BARE_GRAPH_PORT (portSettings)',
  );
  refused(
    () => declareService({ ...bare, hasSubscriptions: true }),
    'bare has subscriptions, which gateways follow by gRPC, and does not serve rpc',
  );
  const topic = { name: 'bare-worked', types: ['bare.worked.v1'], partitions: 2, retentionMs: 1_000 } as const;
  for (const events of [{ publishes: [topic] }, { consumes: ['note.written.v1'] }] as const) {
    refused(
      () => declareService({ ...bare, ...events }),
      'bare publishes or consumes events and declares no schema for the outbox and the inbox',
    );
  }
  // @ts-expect-error: unknown keys do not compile
  declareService({ ...bare, keepFiles: true });
  // @ts-expect-error: the unit `nobody` does not exist
  declareService({ ...bare, calls: ['nobody'] });
});

test('a declaration reads its settings unchanged unless it declares a function', (t) => {
  const settings = portSettings('bare', ['ops']);
  const { readConfig: read } = declareService({ name: 'bare', serves: [], settings });
  t.is(read({ BARE_OPS_PORT: '81' }).opsPort satisfies number, 81);
  const own = declareService({ name: 'bare', serves: [], settings, readConfig: () => ({ opsPort: 82, more: 'a' }) });
  t.is(own.readConfig({}).more satisfies string, 'a');
});

test('a declaration without settings has those of its ports', (t) => {
  const bare = declareService({ name: 'bare', serves: ['graph'] });
  t.deepEqual(
    listSettings(bare.settings).map(({ name }) => name),
    ['BARE_GRAPH_PORT', 'BARE_OPS_PORT'],
  );
  const config: { graphPort: number; opsPort: number } = bare.readConfig({ BARE_GRAPH_PORT: '83' });
  t.deepEqual(config, { graphPort: 83, opsPort: 0 });
  // @ts-expect-error: the service serves no gRPC
  t.is(config.rpcPort ?? bare.readConfig({}).rpcPort, undefined);
});

test('a service whose use cases depend on nothing defines no dependencies', async (t) => {
  const schema = temporaryFile(t, 'schema.graphql', 'type Query { welcome: String! @access(by: []) }');
  const resolvers = { Query: { welcome: (_: never, _args: never, { caller }: GraphContext) => caller.kind } };
  const declaration = declareService({ name: 'bare', serves: ['graph'] });
  const bare = service(declaration, { graph: subgraphOf({ schema, resolvers }) });
  const { graph, unit } = await startService(t, bare);
  const caller = { kind: 'anonymous', tenantId: null, requestId: 'test' } as const;
  t.deepEqual((await graph(caller, '{ welcome }')).data, { welcome: 'anonymous' });
  t.deepEqual(unit.deps, {});

  type Ports = { motd: string };
  const withPorts = { Query: { welcome: (_: never, _args: never, { ports }: PortsContext<Ports>) => ports.motd } };
  const serving = { ...declaration, serves: ['rpc'] as const };
  const needing = ({ motd }: Ports) => job({ kind: motd, concurrency: 1, perTenantLimit: 1, handler: async () => {} });
  const compiled = () => [
    // @ts-expect-error: the resolvers need ports
    service(declaration, { graph: subgraphOf({ schema, resolvers: withPorts }) }),
    // @ts-expect-error: the dependencies lack the ports that the resolvers need
    service(declaration, { dependencies: nothing, graph: subgraphOf({ schema, resolvers: withPorts }) }),
    service(declaration, { dependencies: () => ({ motd: '' }), graph: subgraphOf({ schema, resolvers: withPorts }) }),
    service(declaration, {
      dependencies: ({ config }): Ports => ({ motd: String(config.graphPort) }),
      graph: subgraphOf({ schema, resolvers: withPorts }),
    }),
    service(serving, { rpc }),
    // @ts-expect-error: the gRPC implementation needs ports
    service(serving, { rpc: { ...rpc, implementation: (_ports: Ports) => rpc.implementation() } }),
    // @ts-expect-error: the jobs need ports
    service({ ...serving, schema: notesSchema }, { rpc, jobs: [needing] }),
  ];
  t.is(typeof compiled, 'function');
});

test('a service with tenant tables is refused without onTenantEnd', (t) => {
  t.throws(() => service(notes, { dependencies: nothing }), {
    message:
      'notes: it keeps rows of tenants, so declare onTenantEnd: what becomes of a deleted one, or why nothing has to',
  });
  const ending = { ...notes, consumes: [tenantDeleted.type] } as const;
  t.throws(() => service(ending, { dependencies: nothing, onTenantEnd: { close: async () => {} } }), {
    message:
      'notes: onTenantEnd marks deleted tenants in the table deleted_tenants: declare it as a tenant table (tombstonesMigration makes it)',
  });
});

test('a service must define exactly the members that it declares', (t) => {
  const bare = declareService({ name: 'bare', serves: [], settings: {}, readConfig });
  const stored = { ...bare, schema: { name: 'bare', tables: {}, migrations: [] } };
  const files = () => absentObjectStore();
  const work = () => job({ kind: 'bare.work', concurrency: 1, perTenantLimit: 1, handler: async () => {} });
  const happened = { topic: 'x', decode: TenantDeleted.decode, handle: () => async () => {} };
  const onTenantEnd = { close: async () => {} };
  const graph = { server: () => ({ name: 'graph', start: async () => {}, stop: async () => {} }) };

  const compiled = () => [
    service(bare, { dependencies: nothing }),
    service({ ...bare, serves: ['rpc'] }, { dependencies: nothing, rpc }),
    // @ts-expect-error: the service serves rpc, which is missing
    service({ ...bare, serves: ['rpc'] }, { dependencies: nothing }),
    // @ts-expect-error: the service does not serve rpc
    service(bare, { dependencies: nothing, rpc }),

    service({ ...bare, serves: ['graph'] }, { dependencies: nothing, graph }),
    // @ts-expect-error: the service serves a subgraph, which is missing
    service({ ...bare, serves: ['graph'] }, { dependencies: nothing }),
    // @ts-expect-error: the service serves no subgraph
    service(bare, { dependencies: nothing, graph }),

    service({ ...bare, keepsFiles: true }, { dependencies: ({ objectStore }) => ({ objectStore }), files }),
    // @ts-expect-error: the service keeps files, and `files` is missing
    service({ ...bare, keepsFiles: true }, { dependencies: nothing }),
    // @ts-expect-error: the service keeps no files
    service(bare, { dependencies: nothing, files }),
    // @ts-expect-error: a service without files gets no object store
    service(bare, { dependencies: ({ objectStore }) => ({ objectStore }) }),

    service(stored, { dependencies: ({ database }) => ({ database }), jobs: [work] }),
    // @ts-expect-error: jobs need a database
    service(bare, { dependencies: nothing, jobs: [work] }),
    // @ts-expect-error: the service has no database
    service(bare, { dependencies: ({ database }) => ({ database }) }),
    // @ts-expect-error: the outbox publishes events, so there is no event bus
    service(stored, { dependencies: ({ eventBus }) => ({ eventBus }) }),

    service({ ...stored, consumes: ['a.b.v1'] }, { dependencies: nothing, consumes: { 'a.b.v1': happened } }),
    // @ts-expect-error: the handler of a.b.v1 is missing
    service({ ...stored, consumes: ['a.b.v1'] }, { dependencies: nothing }),
    // @ts-expect-error: the handler of c.d.v1 is missing
    service({ ...stored, consumes: ['a.b.v1', 'c.d.v1'] }, { dependencies: nothing, consumes: { 'a.b.v1': happened } }),
    // @ts-expect-error: the service consumes nothing
    service(stored, { dependencies: nothing, consumes: { 'a.b.v1': happened } }),
    service(
      { ...stored, consumes: ['a.b.v1'] },
      // @ts-expect-error: the service does not consume c.d.v1
      { dependencies: nothing, consumes: { 'a.b.v1': happened, 'c.d.v1': happened } },
    ),
    service(
      { ...stored, consumes: ['a.b.v1'] },
      {
        dependencies: nothing,
        // @ts-expect-error: the handler expects other data than its reaction decodes
        consumes: { 'a.b.v1': { ...happened, handle: () => async (event: { data: string }) => void event.data } },
      },
    ),

    service({ ...stored, consumes: [tenantDeleted.type] }, { dependencies: nothing, onTenantEnd }),
    // @ts-expect-error: a service that consumes the deletion of tenants must handle it
    service({ ...stored, consumes: [tenantDeleted.type] }, { dependencies: nothing, onTenantEnd: keeping }),
    // @ts-expect-error: the service does not consume the deletion of tenants
    service(stored, { dependencies: nothing, onTenantEnd }),
    service(
      { ...stored, consumes: [tenantDeleted.type] },
      // @ts-expect-error: onTenantEnd already handles the deletion of tenants
      { dependencies: nothing, onTenantEnd, consumes: { [tenantDeleted.type]: happened } },
    ),
  ];
  t.is(typeof compiled, 'function');
});

test('a subscription that is only in the schema, or only in the code, is refused', (t) => {
  const schema = temporaryFile(
    t,
    'schema.graphql',
    'type Query { now: Int @access(by: []) } type Subscription { ticks: Int @access(by: []) tocks: Int @access(by: []) }',
  );
  const ticking = declareService({
    name: 'ticking',
    serves: ['rpc', 'graph'],
    settings: portSettings('ticking', ['rpc', 'graph']),
    readConfig,
    hasSubscriptions: true,
  });
  const build = (served: string[], hasSubscriptions = true) => {
    const fields = served.map((field) => [field, async function* () {}]);
    const graph = { schema, resolvers: {} };
    return service(
      { ...ticking, hasSubscriptions },
      {
        dependencies: nothing,
        rpc,
        graph: subgraphOf({ ...graph, subscriptions: () => Object.fromEntries(fields) }),
      },
    ).unit({ opsPort: 0 }, testDependencies());
  };
  t.notThrows(() => build(['tocks', 'ticks']));
  for (const served of [[], ['ticks'], ['ticks', 'tocks', 'more']])
    t.throws(() => build(served), { message: /^ticking: its schema has the subscriptions "ticks,tocks", it serves/ });
  t.throws(() => build(['tocks', 'ticks'], false), {
    message: 'ticking: it defines subscriptions, so declare hasSubscriptions',
  });
  t.throws(
    () =>
      service(
        { ...notes, serves: ['rpc'], hasSubscriptions: true },
        { dependencies: nothing, onTenantEnd: keeping, rpc },
      ),
    {
      message: 'notes: it declares that it has subscriptions, and defines none',
    },
  );
});

test('a service is given clients of the units that it calls, and of no other', (t) => {
  const called = service(
    { ...notes, calls: ['evaluation'] },
    {
      dependencies: ({ calls }) => ({
        evaluation: () => calls.evaluation.getEvaluation,
        // @ts-expect-error session is not among the declared calls
        session: () => calls.session.getTranscript,
      }),
      onTenantEnd: keeping,
    },
  );
  t.deepEqual(called.calls, ['evaluation']);
  const { deps } = called.unit(
    { opsPort: 0 },
    testDependencies({ database: () => ({ registry: { topics: new Map() } }) as Database }),
  );
  t.is(typeof deps.evaluation(), 'function');
  service(notes, {
    // @ts-expect-error the service declares no calls
    dependencies: ({ calls }) => ({ session: () => calls.session.getTranscript }),
    onTenantEnd: keeping,
  });
});

const endingSchema = {
  ...notesSchema,
  tables: { ...notesSchema.tables, deleted_tenants: 'tenant' as const },
  migrations: [...notesSchema.migrations, tombstonesMigration('002-deleted-tenants')],
};

/** A service with this `onTenantEnd`. */
function endingNotes(onTenantEnd: TenantEnd<object, UnitConfig> | TenantClosing) {
  return service(
    { ...notes, schema: endingSchema, consumes: [tenantDeleted.type] },
    { dependencies: nothing, onTenantEnd },
  );
}

/** Returns the event that identity publishes when a tenant is deleted. */
function deletion(tenantId: number): Envelope {
  const data = TenantDeleted.encode({ tenantId, deletedAt: new Date() }).finish();
  const about = { id: randomUUID(), source: 'identity', key: String(tenantId), tenantId, time: new Date() };
  return { ...tenantDeleted, ...about, data };
}

test('a deleted tenant is marked and closed once, and finished by a job that is retried until it succeeds', async (t) => {
  const closed: number[] = [];
  const finished: number[] = [];
  const ending = endingNotes({
    async close({ tenantId }) {
      closed.push(tenantId);
      return tenantId === 1;
    },
    async finish(_deps, { tenantId }) {
      finished.push(tenantId);
      if (finished.length === 1) throw new Error('not yet');
    },
  });
  const database = await testSchema(t, endingSchema);
  const { dependencies } = await startService(t, ending, { database, log: silent });
  const event = deletion(1);
  await dependencies.eventBus.publish([event, deletion(2)]);
  await dependencies.eventBus.publish([event]); // the event is delivered twice, because delivery is at least once

  await eventually('the job is done', async () => {
    const { count } = (await database.transactShared(({ knex }) => knex('jobs').count().first())) ?? {};
    return finished.length > 1 && Number(count) === 0;
  });
  t.deepEqual(
    closed.toSorted((one, other) => one - other),
    [1, 2],
  );
  t.deepEqual(finished, [1, 1]);
  const ops = dependencies.addresses.of('notes', 'ops');
  const failures = (await (await fetch(`${ops}/metrics`)).text()).matchAll(
    /^parley_job_failures_total\{(.*)\} (\d)$/gmu,
  );
  const ofKind = 'kind="notes.end-tenant"';
  t.deepEqual(
    [...failures].map(([, labels = '', count]) => [
      labels.includes(ofKind),
      /outcome="(\w+)"/u.exec(labels)?.[1],
      count,
    ]),
    [
      [true, 'retried', '1'],
      [true, 'given_up', '0'],
    ],
  );
  for (const tenantId of [1, 2, 3]) {
    const marks = await database.transact(tenantId, ({ knex }) => knex('deleted_tenants'));
    t.is(marks.length, tenantId === 3 ? 0 : 1);
  }
  await database.transact(1, (db) => tenantTombstones(db).markDeleted());
});

test('a deleted tenant is closed without a job if nothing remains to finish', async (t) => {
  const ending = endingNotes({
    close: async ({ knex, tenantId }) => void (await knex('notes').where({ tenantId }).del()),
  });
  const database = await testSchema(t, endingSchema);
  for (const tenantId of [1, 2])
    await database.transact(tenantId, ({ knex }) => knex('notes').insert({ tenantId, text: 'a' }));
  const { dependencies } = await startService(t, ending, { database, log: silent });
  await dependencies.eventBus.publish([deletion(1)]);

  const left = (tenantId: number) => database.transact(tenantId, async ({ knex }) => (await knex('notes')).length);
  t.deepEqual([await left(1), await left(2)], [0, 1]);
  t.is(database.registry.runners.size, 0);
});

test('parts start in the order of their dependencies and stop in reverse', async (t) => {
  const order: string[] = [];
  const addressOf = new Map<string, string>();
  const isListening = async (endpoint: string) => {
    const { hostname, port } = new URL(addressOf.get(endpoint)?.replace(/^(?!http)/, 'tcp://') ?? '');
    const socket = connect(Number(port), hostname);
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    return isOpen;
  };
  const listening = async () => {
    const open = [];
    for (const endpoint of ['ops', 'rpc', 'graph']) if (await isListening(endpoint)) open.push(endpoint);
    return open;
  };
  const given = testDependencies();
  const database = await testSchema(t, notesSchema);
  const schemaFile = temporaryFile(t, 'schema.graphql', 'type Query { now: Int @access(by: []) }');
  const everything = service(
    {
      ...notes,
      serves: ['rpc', 'graph'],
      calls: ['evaluation'],
      publishes: [{ name: 'note-written', types: ['note.written.v1'], partitions: 2, retentionMs: 1_000 }],
      consumes: ['x.happened.v1'],
    },
    {
      dependencies: nothing,
      parts: () => [
        {
          name: 'own',
          start: async () => void order.push('own part'),
          stop: async () => void order.push('own part stopped'),
        },
      ],
      jobs: [() => job({ kind: 'notes.work', concurrency: 1, perTenantLimit: 1, handler: async () => {} })],
      consumes: { 'x.happened.v1': { topic: 'x', decode: TenantDeleted.decode, handle: () => async () => {} } },
      onTenantEnd: keeping,
      rpc,
      graph: subgraphOf({ schema: schemaFile, resolvers: {} }),
    },
  );
  const { unit } = await startService(t, everything, {
    log: silent,
    database: {
      ...database,
      async ping() {
        if (!order.includes('database')) order.push('database');
        await database.ping();
      },
      onWake(what, listener) {
        const worker = what === 'outbox' ? 'relay' : what;
        order.push(worker);
        const stop = database.onWake(what, listener);
        return () => {
          order.push(`${worker} stopped`);
          stop();
        };
      },
      async close() {
        order.push(`database closed, listening: ${await listening()}`);
      },
    },
    dependencies: {
      addresses: {
        ...given.addresses,
        of(unitName, endpoint) {
          if (unitName !== 'evaluation') return given.addresses.of(unitName, endpoint);
          order.push('client');
          return '127.0.0.1:1';
        },
        announce(unitName, endpoint, address) {
          order.push(endpoint);
          addressOf.set(endpoint, address);
          given.addresses.announce(unitName, endpoint, address);
        },
      },
      eventBus: {
        ...given.eventBus,
        async subscribe(options) {
          order.push('consumer');
          const subscription = await given.eventBus.subscribe(options);
          return {
            async stop() {
              order.push(`consumer stopped, listening: ${await listening()}`);
              await subscription.stop();
            },
          };
        },
      },
    },
  });
  const runner = 'jobs:notes.work';
  t.deepEqual(order.splice(0), ['ops', 'client', 'database', 'own part', 'relay', runner, 'consumer', 'rpc', 'graph']);
  t.deepEqual(await listening(), ['ops', 'rpc', 'graph']);
  await unit.stop();
  t.deepEqual(order, [
    'consumer stopped, listening: ops',
    `${runner} stopped`,
    'relay stopped',
    'own part stopped',
    'database closed, listening: ops',
  ]);
  t.deepEqual(await listening(), []);
});

test('the job of a deleted tenant has the lease and the stop grace of its declaration', async (t) => {
  const leased = { leaseMs: 4_000, stopGraceMs: 1 };
  const started = createGate();
  let handedOver = false;
  const ending = endingNotes({
    close: async () => true,
    async finish(_deps, { signal }) {
      started.open();
      await once(signal, 'abort');
      handedOver = true;
      throw signal.reason;
    },
    lease: ({ opsPort }) => ({ ...leased, stopGraceMs: leased.stopGraceMs + opsPort }),
  });
  const database = await testSchema(t, endingSchema);
  const { unit, dependencies } = await startService(t, ending, { database, log: silent });
  t.is(database.registry.runners.get('notes.end-tenant')?.leaseMs, leaseTimes(leased.leaseMs).leaseMs);

  await dependencies.eventBus.publish([deletion(1)]);
  await started.pass();
  const stopsAt = performance.now();
  await unit.stop();
  t.true(handedOver);
  t.true(performance.now() - stopsAt < 12_000, 'by default a job has 15 s to end');
});

test('a service without a schema starts without a database, in tests as well', async (t) => {
  const settings = portSettings('evaluation', ['rpc']);
  const declaration = declareService({ name: 'evaluation', serves: ['rpc'], settings, readConfig });
  const hello = service(declaration, { dependencies: nothing, rpc });
  const running = await startService(t, hello);
  const caller = { kind: 'service', service: 'session', tenantId: 1, requestId: 'r' } as const;
  t.deepEqual(await running.rpc.getEvaluation({ sessionId: 1 }, { caller }), { evaluation: undefined });
  t.throws(() => running.database, { message: 'evaluation has no schema' });
});

test('a service publishes only declared topics and types, and appends only jobs that it runs', async (t) => {
  const topic = { name: 'note-written', types: ['note.written.v1'], partitions: 2, retentionMs: 1_000 } as const;
  const done: string[] = [];
  const writing = service(
    { ...notes, serves: ['rpc'], publishes: [topic] },
    {
      dependencies: ({ database }) => ({ database }),
      jobs: [
        () =>
          job<string>({
            kind: 'notes.write',
            concurrency: 1,
            perTenantLimit: 1,
            handler: async ({ data }) => void done.push(data),
          }),
      ],
      onTenantEnd: keeping,
      rpc,
    },
  );
  const { database } = await startService(t, writing, { database: await testSchema(t, notesSchema), log: silent });
  const event = { key: 'a', data: new Uint8Array() };
  const append = (kind: string) => database.transact(1, (db) => jobs(db).append({ kind, key: 'k', data: kind }));
  const publish = (name: string, type = 'note.written.v1') =>
    database.transact(1, (db) => outbox(db).append({ ...event, topic: name, type }));

  await t.throwsAsync(publish('note-torn'), { message: /does not declare that it publishes .* to note-torn/ });
  await t.throwsAsync(publish('note-written', 'note.writen.v1'), {
    message: 'This service does not declare that it publishes note.writen.v1 to note-written',
  });
  await t.throwsAsync(append('notes.tear'), { message: /No runner is registered for jobs of the kind notes\.tear/ });
  await publish('note-written');
  t.true((await append('notes.write')).claimed);
  await eventually('it is done', () => done.length === 1);
});

const noteWritten = { name: 'note-written', types: ['note.written.v1'], partitions: 2, retentionMs: 1_000 } as const;
const consuming = {
  consumes: { 'x.happened.v1': { topic: 'x', decode: TenantDeleted.decode, handle: () => async () => {} } },
};
for (const [what, withEvents] of [
  ['publishes', service({ ...notes, publishes: [noteWritten] }, { dependencies: nothing, onTenantEnd: keeping })],
  [
    'consumes',
    service({ ...notes, consumes: ['x.happened.v1'] }, { dependencies: nothing, onTenantEnd: keeping, ...consuming }),
  ],
] as const) {
  test(`a unit that ${what} is not ready before it has reached the event bus once; a later outage leaves it ready`, async (t) => {
    let isDown = true;
    const ping = async () => {
      if (isDown) throw new Error('no answer');
    };
    const { unit } = await startService(t, withEvents, {
      database: await testSchema(t, notesSchema),
      log: silent,
      dependencies: { eventBus: { ...testDependencies().eventBus, ping } },
    });
    await t.throwsAsync(unit.ready(), { message: 'no answer' });
    isDown = false;
    await unit.ready();
    isDown = true;
    await t.notThrowsAsync(unit.ready(), 'its commits go on, and their events wait in the outbox');
  });
}

test('a unit that keeps files is not ready before it has reached the object store once', async (t) => {
  let isDown = true;
  const ping = async () => {
    if (isDown) throw new Error('no bucket');
  };
  const objectStore = { ...absentObjectStore(), ping };
  const database = await testSchema(t, notesSchema);
  const withFiles = service(
    { ...notes, keepsFiles: true },
    { dependencies: nothing, onTenantEnd: keeping, files: () => objectStore },
  );
  const { unit } = await startService(t, withFiles, { database, log: silent, dependencies: { objectStore } });
  await t.throwsAsync(unit.ready(), { message: 'no bucket' });
  isDown = false;
  await unit.ready();
  isDown = true;
  await t.notThrowsAsync(unit.ready());
});

test('a service without gRPC is started by the harness like others', async (t) => {
  const quiet = service(notes, { dependencies: () => ({ text: 'built' }), onTenantEnd: keeping });
  const { unit, rpc } = await startService(t, quiet, { database: await testSchema(t, notesSchema), log: silent });
  t.is(rpc satisfies undefined, undefined);
  t.is(unit.deps.text, 'built');
});

test('a separate gRPC service takes callers of its own key only, and the other service takes none of them', async (t) => {
  const own = createCallers(randomBytes(32), Date.now, 'for others only');
  const asked: string[] = [];
  const transcripts = stubRpc<SessionServiceImplementation<MeshContext>>(SessionServiceDefinition, {
    async getTranscript(_, { caller }) {
      asked.push(caller.requestId);
      return { messages: [] };
    },
  });
  const bare = declareService({ name: 'bare', serves: ['rpc'], settings: portSettings('bare', ['rpc']), readConfig });
  const separate = () => separateRpc(SessionServiceDefinition, transcripts, own);
  const { dependencies, rpc: mesh } = await startService(
    t,
    service(bare, { dependencies: nothing, rpc: { ...rpc, separate } }),
  );
  const clientOf = async <Definition extends typeof SessionServiceDefinition | typeof EvaluationServiceDefinition>(
    definition: Definition,
    callers: typeof own,
  ) => {
    const address = () => dependencies.addresses.of('bare', 'rpc');
    const client = rpcClient({ definition, unit: 'bare', address, callers });
    await client.start();
    t.teardown(() => client.stop());
    return client.calls;
  };
  const caller: Caller = { kind: 'service', service: 'test', tenantId: null, requestId: 'r-1' };
  const options = { caller, expectedErrors: ['unauthenticated' as const] };

  await (await clientOf(SessionServiceDefinition, own)).getTranscript({}, options);
  await mesh.getEvaluation({}, options);
  const byMesh = (await clientOf(SessionServiceDefinition, dependencies.callers)).getTranscript({}, options);
  t.like(await t.throwsAsync(byMesh), { kind: 'unauthenticated', message: 'for others only' });
  const byOthers = (await clientOf(EvaluationServiceDefinition, own)).getEvaluation({}, options);
  t.like(await t.throwsAsync(byOthers), {
    kind: 'unauthenticated',
    message: 'This port takes calls from the mesh only',
  });
  t.deepEqual(asked, ['r-1']);
});

import { randomBytes } from 'node:crypto';
import type { Part } from '@parley/kernel/processes/unit';
import { type Environment, readSettings, SettingsError } from '@parley/kernel/settings/config';
import { fileSettings } from '@parley/kernel/settings/shared-settings';
import { absentObjectStore } from '@parley/objects/object-store';
import { connectUnit } from '@parley/unit/connect-unit';
import { declareUnit } from '@parley/unit/declaration';
import test from 'ava';
import { connectService } from './connect-service.ts';
import { declareService } from './declaration.ts';
import { processEventBus } from './process-event-bus.ts';
import { checkSettingsOfProcess, settingsOfProcess } from './unit-settings.ts';

const kitchen = {
  name: 'kitchen',
  serves: [],
  settings: {},
  readConfig: () => ({ opsPort: 0 }),
  calls: ['knowledge'],
} as const;
const schema = { name: 'kitchen', migrations: [], tables: {} };
const addresses = ['KNOWLEDGE_RPC_URL', 'GARDEN_GRAPH_URL'];

/** Returns the names of all variables that `connect` reads, in order. */
async function namesRead(connect: (env: Environment) => Part): Promise<string[]> {
  const read = new Set<string>();
  const given: Record<string, string> = {
    MESH_KEY: randomBytes(32).toString('base64'),
    DATABASE_URL: 'postgres://localhost/parley',
    OTEL_TRACES_EXPORTER: 'console', // otherwise the settings of traces are not read
  };
  const env = new Proxy(given, { get: (target, name: string) => (read.add(name), target[name]) });
  await connect(env).stop();
  return [...read].toSorted();
}

function namesListed(unit: Parameters<typeof settingsOfProcess>[0]) {
  const { own, shared } = settingsOfProcess(unit, [{ unit: 'garden', endpoint: 'graph' }]);
  return { own: own.map(({ name }) => name), all: [...own, ...shared].map(({ name }) => name).toSorted() };
}

const kinds: [what: string, unit: Parameters<typeof settingsOfProcess>[0], connect: (env: Environment) => Part][] = [
  [
    'a service with a schema',
    declareService({ ...kitchen, schema }),
    (env) => connectService(env, { schema: 'kitchen' }),
  ],
  ['a service without a schema', declareService(kitchen), (env) => connectService(env, {})],
  [
    'a service that consumes events',
    declareService({ ...kitchen, schema, consumes: ['harvest.ended.v1'] }),
    (env) => connectService(env, { schema: 'kitchen', events: processEventBus }),
  ],
  [
    'a service that keeps files',
    declareService({ ...kitchen, keepsFiles: true }),
    (env) => connectService(env, { files: (given) => (readSettings(given, fileSettings), absentObjectStore()) }),
  ],
  ['a unit without data', declareUnit(kitchen), (env) => connectUnit(env)],
];

for (const [what, unit, connect] of kinds) {
  test(`the list of a process has exactly the settings that it reads: ${what}`, async (t) => {
    const read = await namesRead(connect);
    t.deepEqual(namesListed(unit).all, [...addresses, ...read].toSorted());
  });
}

test('checking the settings of a process reads all of them, and names each that is missing', (t) => {
  const unit = declareService({ ...kitchen, schema, consumes: ['harvest.ended.v1'], keepsFiles: true });
  const read = new Set<string>();
  const env = new Proxy<Environment>(
    { NODE_ENV: 'production', OTEL_TRACES_EXPORTER: 'console' },
    {
      get: (target, name: string) => (read.add(name), target[name]),
    },
  );
  const { problems } = t.throws(() => checkSettingsOfProcess(unit, env), { instanceOf: SettingsError });

  const listed = settingsOfProcess(unit);
  const names = [...listed.own, ...listed.shared].map(({ name }) => name);
  t.deepEqual([...read].toSorted(), names.toSorted());
  t.deepEqual(problems.map((problem) => problem.replace(/:.*/u, '')).toSorted(), [
    'DATABASE_URL or KITCHEN_DATABASE_URL',
    'KAFKA_BROKERS',
    'KNOWLEDGE_RPC_URL',
    'MESH_KEY',
    'REDIS_URL',
    'S3_ENDPOINT',
  ]);
});

test('the own settings of a unit are the addresses of other units and its database', (t) => {
  t.deepEqual(namesListed(declareService({ ...kitchen, schema })).own, [
    ...addresses,
    'KITCHEN_DATABASE_URL',
    'KITCHEN_MIGRATIONS_DATABASE_URL',
  ]);
  t.deepEqual(namesListed(declareUnit(kitchen)).own, addresses);
});

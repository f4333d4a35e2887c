import { randomBytes } from 'node:crypto';
import { openDatabase } from '@parley/postgres/database/open';
import type { Database, SchemaDeclaration } from '@parley/postgres/database/types';
import type { ExecutionContext } from 'ava';
import { Client } from 'pg';
import { filledSnapshot } from './database-snapshot.ts';
import { hashOf } from './schema-hash.ts';
import { dropping, fillPool, type SchemaPool, schemaPool } from './schema-pool.ts';
import { type DatabaseEngine, testDatabaseUrl, usualEngine } from './test-database.ts';

export interface TestSchemaOptions {
  /** Default: the usual one. */
  engine?: DatabaseEngine;
  /** Another login of that database. */
  url?: string;
  /** Connections at most. Default 4. */
  poolSize?: number;
  /** Moves `parley_now()` by so many ms. */
  clockOffsetMs?: () => number;
  /** Whether it is migrated already. Default true. */
  migrate?: boolean;
}

type ViewOptions = Omit<TestSchemaOptions, 'migrate'>;
type Teardown = Pick<ExecutionContext, 'teardown'>;

/**
 * A schema of the test's own, empty, with its own name and roles. A migrated one was another test's before and will be one again;
 * where a test has changed its tables or roles, it is made anew then.
 */
export async function testSchema(
  t: Teardown,
  schema: SchemaDeclaration,
  { migrate = true, ...options }: TestSchemaOptions = {},
): Promise<Database> {
  if (!migrate) return unmigratedSchema(t, schema, options);
  const pool = await poolFor(schema, options.engine);
  const schemaName = await pool.take();
  t.teardown(() => pool.giveBack(schemaName)); // teardowns run last first: after every view of it is closed
  return open(t, schema, schemaName, options);
}

/** All of it is gone after the test. */
async function unmigratedSchema(t: Teardown, schema: SchemaDeclaration, options: ViewOptions): Promise<Database> {
  const schemaName = `test_${schema.name.slice(0, 20)}_${randomBytes(6).toString('hex')}`;
  const url = await testDatabaseUrl(options.engine);
  t.teardown(async () => {
    const client = new Client(url);
    await client.connect();
    await client.query(dropping(schemaName));
    await client.end();
  });
  return open(t, schema, schemaName, options);
}

/** Another view of a test's schema, with a pool of its own, as a second replica of the service has. */
export async function replicaOf(
  t: Teardown,
  database: Database,
  schema: SchemaDeclaration,
  options: ViewOptions = {},
): Promise<Database> {
  return open(t, schema, database.schemaName, options);
}

/** No test waits for it, and on a busy machine a connection or a lock may take longer than a service would wait. */
const patienceMs = 60_000;

async function open(
  t: Teardown,
  schema: SchemaDeclaration,
  schemaName: string,
  { engine, url, poolSize = 4, clockOffsetMs }: ViewOptions,
): Promise<Database> {
  const database = openDatabase({
    url: url ?? (await testDatabaseUrl(engine)),
    schema,
    schemaName,
    poolSize,
    clockOffsetMs,
    statementTimeoutMs: patienceMs,
    lockTimeoutMs: patienceMs,
    acquireTimeoutMs: patienceMs,
  });
  t.teardown(() => database.close());
  return database;
}

const pools = new Map<string, Promise<SchemaPool>>();

async function poolFor(schema: SchemaDeclaration, engine: DatabaseEngine = usualEngine()): Promise<SchemaPool> {
  const hash = await hashOf(schema);
  const url = await testDatabaseUrl(engine, () =>
    filledSnapshot(`test-${schema.name}`, hash.slice(0, 12), (empty) => fillPool(empty, schema)),
  );
  const key = `${engine} ${hash}`;
  const pool = pools.get(key) ?? schemaPool(url, schema);
  pools.set(key, pool);
  return pool;
}

import { randomBytes } from 'node:crypto';
import { openDatabase } from '@parley/postgres/database/open';
import type { Database, SchemaDeclaration } from '@parley/postgres/database/types';
import type { ExecutionContext } from 'ava';
import { Client } from 'pg';
import { filledSnapshot } from './database-snapshot.ts';
import { schemaHash } from './schema-hash.ts';
import { dropSchemaSql, fillPool, type SchemaPool, schemaPool } from './schema-pool.ts';
import { type DatabaseEngine, defaultEngine, testDatabaseUrl } from './test-database.ts';

export interface TestSchemaOptions {
  /** The engine that holds the schema. Default: `defaultEngine()`. */
  engine?: DatabaseEngine;
  /** The URL of the database, e.g. with another user. Default: `testDatabaseUrl()`. */
  url?: string;
  /** Maximum number of connections. Default 4. */
  poolSize?: number;
  /** The offset of `parley_now()` from the real time, in ms. */
  clockOffsetMs?: () => number;
  /** Whether the schema is migrated. Default true. */
  migrate?: boolean;
}

type ViewOptions = Omit<TestSchemaOptions, 'migrate'>;
type Teardown = Pick<ExecutionContext, 'teardown'>;

/**
 * Returns an empty schema for one test, with its own name and roles. A migrated schema comes from a pool of schemas. The pool creates a
 * schema again if an earlier test has changed its tables or roles.
 */
export async function testSchema(
  t: Teardown,
  schema: SchemaDeclaration,
  { migrate = true, ...options }: TestSchemaOptions = {},
): Promise<Database> {
  if (!migrate) return unmigratedSchema(t, schema, options);
  const pool = await poolFor(schema, options.engine);
  const schemaName = await pool.take({ atOnce: holders.has(t) });
  holders.add(t);
  t.teardown(() => pool.release(schemaName)); // teardowns run in reverse order, so the schema is released after its connections are closed
  return open(t, schema, schemaName, options);
}

/** The tests that already have a schema. */
const holders = new WeakSet<Teardown>();

/** Makes a schema without migrations; the test's teardown drops it. */
async function unmigratedSchema(t: Teardown, schema: SchemaDeclaration, options: ViewOptions): Promise<Database> {
  const schemaName = `test_${schema.name.slice(0, 20)}_${randomBytes(6).toString('hex')}`;
  const url = await testDatabaseUrl(options.engine);
  t.teardown(async () => {
    const client = new Client(url);
    await client.connect();
    await client.query(dropSchemaSql(schemaName));
    await client.end();
  });
  return open(t, schema, schemaName, options);
}

/** Opens the schema of `database` through a separate connection pool, as a second replica of the service does. */
export async function replicaOf(
  t: Teardown,
  database: Database,
  schema: SchemaDeclaration,
  options: ViewOptions = {},
): Promise<Database> {
  return open(t, schema, database.schemaName, options);
}

/** Longer than a service's own timeouts, because test machines are busy. */
const timeoutMs = 60_000;

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
    statementTimeoutMs: timeoutMs,
    lockTimeoutMs: timeoutMs,
    acquireTimeoutMs: timeoutMs,
  });
  t.teardown(() => database.close());
  return database;
}

const pools = new Map<string, Promise<SchemaPool>>();

async function poolFor(schema: SchemaDeclaration, engine: DatabaseEngine = defaultEngine()): Promise<SchemaPool> {
  const hash = await schemaHash(schema);
  const url = await testDatabaseUrl(engine, () =>
    filledSnapshot(`test-${schema.name}`, hash.slice(0, 12), (empty) => fillPool(empty, schema)),
  );
  const key = `${engine} ${hash}`;
  const pool = pools.get(key) ?? schemaPool(url, schema);
  pools.set(key, pool);
  return pool;
}

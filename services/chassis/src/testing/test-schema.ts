import { randomBytes } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import { rolesOf } from '../database/identifiers.ts';
import { openDatabase } from '../database/open.ts';
import { openPool } from '../database/pool.ts';
import type { Database, SchemaDeclaration } from '../database/types.ts';
import { testDatabaseUrl } from './test-database.ts';

export interface TestSchemaOptions {
  /** The server to make it on. Default: `TEST_DATABASE_URL`, else an embedded database in memory. */
  url?: string;
  /** Connections at most. Default 4. */
  poolSize?: number;
  /** Moves `parley_now()` by so many ms. */
  clockOffsetMs?: () => number;
  /** Whether it is migrated already. Default true. */
  migrate?: boolean;
}

type Teardown = Pick<ExecutionContext, 'teardown'>;

/** A schema of the test's own, with its own name and roles; all of it is gone after the test. */
export async function testSchema(
  t: Teardown,
  schema: SchemaDeclaration,
  options: TestSchemaOptions = {},
): Promise<Database> {
  const schemaName = `test_${schema.name.slice(0, 20)}_${randomBytes(6).toString('hex')}`;
  const url = options.url ?? (await testDatabaseUrl());
  t.teardown(() => dropSchema(url, schemaName)); // teardowns run last first: after every view of it is closed
  const database = open(t, url, schema, schemaName, options);
  if (options.migrate ?? true) await database.migrate();
  return database;
}

/** Another view of a test's schema, with a pool of its own, as a second replica of the service has. */
export async function replicaOf(
  t: Teardown,
  database: Database,
  schema: SchemaDeclaration,
  options: Omit<TestSchemaOptions, 'migrate'> = {},
): Promise<Database> {
  return open(t, options.url ?? (await testDatabaseUrl()), schema, database.schemaName, options);
}

function open(
  t: Teardown,
  url: string,
  schema: SchemaDeclaration,
  schemaName: string,
  options: TestSchemaOptions,
): Database {
  const { poolSize = 4, clockOffsetMs } = options;
  const database = openDatabase({ url, schema, schemaName, poolSize, clockOffsetMs });
  t.teardown(() => database.close());
  return database;
}

async function dropSchema(url: string, schemaName: string): Promise<void> {
  const { tenant, shared } = rolesOf(schemaName);
  const pool = openPool({ url, poolSize: 1, statementTimeoutMs: 20_000 });
  try {
    await pool.raw(`DROP SCHEMA IF EXISTS ${schemaName} CASCADE`);
    await pool.raw(`DROP ROLE IF EXISTS ${tenant}, ${shared}`);
  } finally {
    await pool.destroy();
  }
}

import { rolesOf } from '@parley/postgres/database/identifiers';
import { migrationsTable, migrationsTables } from '@parley/postgres/database/internal-tables';
import { openDatabase } from '@parley/postgres/database/open';
import type { SchemaDeclaration } from '@parley/postgres/database/types';
import { Client } from 'pg';
import { schemaHash } from './schema-hash.ts';

/**
 * The migrated schemas of one declaration in one database, reused by the tests of all processes, because emptying a schema is twenty times
 * as fast as migrating one.
 */
export interface SchemaPool {
  /**
   * Waits for a free schema and returns its name. The schema is migrated, empty and exclusive until `release`.
   * @param atOnce true: does not wait for another test to release a schema. Set it for a test that already has a schema, because tests that
   * all wait for a second schema would wait for each other
   */
  take(options?: { atOnce: boolean }): Promise<string>;
  release(schemaName: string): Promise<void>;
}

/** How many schemas the tests of one process use at once. */
export const maxSchemasInUse = 5;

/** Returns the name prefix of the schemas of a declaration. The prefix changes with the declaration. */
export async function poolName(schema: SchemaDeclaration): Promise<string> {
  return `test_${schema.name.slice(0, 20)}_${(await schemaHash(schema)).slice(0, 12)}`;
}

export async function schemaPool(url: string, schema: SchemaDeclaration): Promise<SchemaPool> {
  const name = await poolName(schema);
  const connection = await processConnection(url);
  const taken = new Set<number>();
  const waiting: (() => void)[] = [];
  let places = maxSchemasInUse;
  let lastLock: Promise<unknown> = Promise.resolve();

  async function lockNext(): Promise<number> {
    const { rows } = await connection.query<{ n: number }>(
      // Advisory locks are reentrant: this connection could lock a schema again that it already holds.
      `SELECT n FROM generate_series(1, 1000) AS n
        WHERE CASE WHEN n = ANY ($1::integer[]) THEN false ELSE pg_try_advisory_lock(hashtext($2), n) END LIMIT 1`,
      [[...taken], name],
    );
    const n = rows[0]?.n;
    if (n === undefined) throw new Error(`all schemas ${name} are in use`);
    taken.add(n);
    return n;
  }

  async function unlock(n: number): Promise<void> {
    await connection.query('SELECT pg_advisory_unlock(hashtext($1), $2)', [name, n]);
    taken.delete(n);
    const next = places < 0 ? undefined : waiting.shift();
    if (next) next();
    else places += 1;
  }

  return {
    async take({ atOnce } = { atOnce: false }) {
      if (places > 0 || atOnce) places -= 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      const locked = lastLock.then(lockNext); // one at a time, because each call reads the `taken` of earlier ones
      lastLock = locked.catch(() => undefined);
      const n = await locked;
      const schemaName = `${name}_${n}`;
      try {
        if (await isUnchanged(connection, schemaName)) await connection.query(emptySchemaSql(schemaName));
        else await makeSchema(connection, url, schema, schemaName);
      } catch (error) {
        await unlock(n);
        throw error;
      }
      return schemaName;
    },
    release: (schemaName) => unlock(Number(schemaName.slice(name.length + 1))),
  };
}

type Connection = Pick<Client, 'query'>;

/**
 * Opens a connection for the lifetime of the process; it does not keep the process alive. Its locks mark the schemas that this process
 * uses; a pooled connection would lose the locks when a statement fails.
 */
async function processConnection(url: string): Promise<Connection> {
  const client: Client & { ref?(): void; unref?(): void } = new Client(url); // the types of `pg` lack `ref` and `unref`
  client.on('error', () => undefined); // the next statement reports a connection that was lost while idle
  await client.connect();
  client.unref?.();
  let running = 0;
  // Statements are queued here, because `pg` deprecates its own queue.
  let last: Promise<unknown> = Promise.resolve();
  const query = async (...statement: [string, unknown[]?]) => {
    running += 1;
    client.ref?.();
    const answer = last.then(() => client.query(...statement));
    last = answer.catch(() => undefined);
    try {
      return await answer;
    } finally {
      running -= 1;
      if (running === 0) client.unref?.();
    }
  };
  return { query: query as Client['query'] };
}

/** Makes the schemas of a pool in a new database. */
export async function fillPool(url: string, schema: SchemaDeclaration): Promise<void> {
  const name = await poolName(schema);
  const connection = new Client(url);
  await connection.connect();
  try {
    for (let n = 1; n <= maxSchemasInUse; n++) await makeSchema(connection, url, schema, `${name}_${n}`);
  } finally {
    await connection.end();
  }
}

async function makeSchema(
  connection: Connection,
  url: string,
  schema: SchemaDeclaration,
  schemaName: string,
): Promise<void> {
  await connection.query(dropSchemaSql(schemaName));
  const database = openDatabase({ url, schema, schemaName, poolSize: 1 });
  try {
    await database.migrate();
  } finally {
    await database.close();
  }
  await connection.query(`COMMENT ON SCHEMA ${schemaName} IS '${await catalogueOf(connection, schemaName)}'`);
}

/** Returns SQL that drops a schema with its roles. */
export function dropSchemaSql(schemaName: string): string {
  const { tenant, shared } = rolesOf(schemaName);
  return `DROP SCHEMA IF EXISTS ${schemaName} CASCADE; DROP ROLE IF EXISTS ${tenant}, ${shared}`;
}

/** Reports whether the schema exists and tests have changed only its rows. */
async function isUnchanged(connection: Connection, schemaName: string): Promise<boolean> {
  const { rows } = await connection.query<{ catalogue: string | null }>(
    `SELECT obj_description(to_regnamespace($1), 'pg_namespace') AS catalogue`,
    [schemaName],
  );
  const made = rows[0]?.catalogue ?? undefined;
  return made !== undefined && made === (await catalogueOf(connection, schemaName).catch(() => undefined));
}

/** Returns a hash of a schema's migrations and of everything that the database's catalogue has about the schema and its roles. */
async function catalogueOf(connection: Connection, schemaName: string): Promise<string | undefined> {
  const { rows } = await connection.query<{ catalogue: string }>(
    `SELECT md5(string_agg(fact, ' ' ORDER BY fact)) AS catalogue FROM (
       SELECT format('%s %s %s %s %s %s', oid, relkind, relowner, relacl, relrowsecurity, relforcerowsecurity)
         FROM pg_class WHERE relnamespace = $1::regnamespace
       UNION ALL SELECT a::text FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid
         WHERE relnamespace = $1::regnamespace AND relkind <> 'i'
       UNION ALL SELECT p::text FROM pg_policy p JOIN pg_class c ON c.oid = polrelid WHERE relnamespace = $1::regnamespace
       UNION ALL SELECT k::text FROM pg_constraint k WHERE connamespace = $1::regnamespace
       UNION ALL SELECT f::text FROM pg_proc f WHERE pronamespace = $1::regnamespace
       UNION ALL SELECT n::text FROM pg_namespace n WHERE oid = $1::regnamespace
       UNION ALL SELECT r::text FROM pg_roles r WHERE rolname = ANY ($2::text[])
       UNION ALL SELECT m::text FROM pg_auth_members m JOIN pg_roles r ON r.oid IN (m.roleid, m.member)
         WHERE rolname = ANY ($2::text[])
       UNION ALL SELECT name FROM ${schemaName}.${migrationsTable}
     ) AS facts (fact)`,
    [schemaName, Object.values(rolesOf(schemaName))],
  );
  return rows[0]?.catalogue;
}

/**
 * Returns SQL that empties the written tables and restarts their ids. Of a partitioned table it empties only the written partitions,
 * because there may be many. It reads no sequence of another schema, because that would wait for a concurrent truncation there.
 */
function emptySchemaSql(schemaName: string): string {
  return `
    DO $$ DECLARE written text; of_partitioned regclass; BEGIN
      WITH sequences AS MATERIALIZED (
        SELECT d.refobjid AS owner, s.oid FROM pg_class s JOIN pg_depend d ON d.objid = s.oid
         WHERE s.relnamespace = '${schemaName}'::regnamespace AND s.relkind = 'S')
      SELECT string_agg(c.oid::regclass::text, ', ') INTO written FROM pg_class c
       WHERE relnamespace = '${schemaName}'::regnamespace AND relkind = 'r'
         AND relname NOT IN (${migrationsTables.map((table) => `'${table}'`).join(', ')})
         AND (pg_relation_size(c.oid) > 0 OR EXISTS (
               SELECT FROM sequences s WHERE s.owner = c.oid AND pg_sequence_last_value(s.oid) IS NOT NULL));
      IF written IS NOT NULL THEN EXECUTE 'TRUNCATE ' || written || ' RESTART IDENTITY CASCADE'; END IF;
      FOR of_partitioned IN
        SELECT d.objid FROM pg_depend d JOIN pg_class c ON c.oid = d.refobjid JOIN pg_class s ON s.oid = d.objid
         WHERE c.relnamespace = '${schemaName}'::regnamespace AND c.relkind = 'p' AND s.relkind = 'S'
      LOOP PERFORM setval(of_partitioned, 1, false); END LOOP;
    END $$`;
}

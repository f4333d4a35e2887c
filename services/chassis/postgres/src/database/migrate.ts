import { setTimeout as delay } from 'node:timers/promises';
import { isLockTimeout, transactionError } from '@parley/kernel/database-errors';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { Knex } from 'knex';
import { openPool } from '../driver/pool.ts';
import { rolesOf } from './identifiers.ts';
import { internalMigrations, migrationsTable, tablesOf } from './internal-tables.ts';
import { applyTableKinds } from './table-kinds.ts';
import type { Migration, SchemaDeclaration } from './types.ts';

export interface MigrateOptions {
  /** The database URL with the login that owns the schema. */
  url: string;
  /** The database URL with the login of the service, which becomes a member of the schema's roles. */
  appUrl: string;
  schema: SchemaDeclaration;
  schemaName: string;
  log?: Logger | undefined;
  /**
   * Applies one migration; also called for migrations of internal tables. Default: calls the migration's `up`. Tests replace this function
   * to check the schema before and after each migration.
   */
  apply?: (migration: Migration, knex: Knex.Transaction) => Promise<void>;
  /** How long a statement may wait for a locked table, in ms. After that, all migrations roll back and are retried. Default 3 s. */
  lockTimeoutMs?: number;
}

/**
 * The statement timeout is this long because creating an index on a large table takes many minutes. It is shorter than the timeout of the
 * Helm chart's hook.
 */
export const statementTimeoutMs = 45 * 60_000;
/** Minimum `maintenance_work_mem`: building a vector index that does not fit into this memory takes several times as long. */
const indexMemory = '256MB';
/**
 * The timeout is short, because all other statements on the table wait behind the migration. After the timeout the migration rolls back,
 * lets the other statements proceed, and retries.
 */
const defaultLockTimeoutMs = 3_000;
const lockRetries = 20;
const lockPauseMs = 1_000;

/**
 * Applies pending migrations in one transaction, so that a schema is always at either the old or the new version.
 *
 * An advisory lock serializes concurrent calls; all schemas share it, because roles belong to the server. On the embedded database,
 * transactions of all connections queue before they reach the lock. When a table stays locked, the transaction is retried up to 20 times
 * and then rejects with `unavailable`.
 * @returns the names of the migrations that this call applied; empty when the schema was up to date.
 */
export async function migrateSchema(options: MigrateOptions): Promise<string[]> {
  const { url, appUrl, schema, schemaName, log, apply = ({ up }, knex) => up(knex) } = options;
  const { lockTimeoutMs = defaultLockTimeoutMs } = options;
  const pool = openPool({ url, poolSize: 1, statementTimeoutMs, lockTimeoutMs: statementTimeoutMs, log });
  const attempt = () =>
    pool.transaction(async (transaction) => {
      await transaction.raw(`SELECT pg_advisory_xact_lock(hashtext('parley migrations'))`);
      await transaction.raw(`SET LOCAL lock_timeout = ${Number(lockTimeoutMs)}`);
      await transaction.raw(
        `SELECT set_config('maintenance_work_mem', '${indexMemory}', true)
          WHERE pg_size_bytes(current_setting('maintenance_work_mem')) < pg_size_bytes('${indexMemory}')`,
      );
      await ensureSchema(transaction, schemaName, userOf(appUrl));
      await transaction.raw(`SET LOCAL search_path TO ${schemaName}, public`);
      await ensureClock(transaction, schemaName);
      const [, applied]: [number, string[]] = await transaction.migrate.latest({
        tableName: migrationsTable,
        migrationSource: sourceOf([...internalMigrations, ...schema.migrations], apply),
      });
      await applyTableKinds(transaction, schemaName, tablesOf(schema));
      return applied;
    });
  try {
    for (let tries = 1; ; tries++) {
      try {
        return await attempt();
      } catch (error) {
        if (!isLockTimeout(error) || tries > lockRetries) throw error;
        log?.info({ schema: schemaName, tries }, 'migrations rolled back for a locked table; will retry');
        await delay(lockPauseMs);
      }
    }
  } catch (error) {
    throw transactionError(error);
  } finally {
    await pool.destroy();
  }
}

async function ensureSchema(
  transaction: Knex.Transaction,
  schemaName: string,
  appUser: string | undefined,
): Promise<void> {
  const { tenant, shared } = rolesOf(schemaName);
  for (const role of [tenant, shared]) {
    await transaction.raw(`
      DO $$ BEGIN
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${role}') THEN CREATE ROLE ${role} NOLOGIN; END IF;
      EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; -- another database of this server was quicker
      END $$`);
  }
  const [{ me }] = (await transaction.raw('SELECT current_user AS me')).rows;
  for (const user of new Set([me, appUser ?? me])) await ensureMember(transaction, user, [tenant, shared]);
  await transaction.raw(`
    CREATE SCHEMA IF NOT EXISTS ${schemaName};
    REVOKE ALL ON SCHEMA ${schemaName} FROM PUBLIC;
    GRANT USAGE ON SCHEMA ${schemaName} TO ${tenant}, ${shared}`);
}

/**
 * Since PostgreSQL 16 a non-superuser must grant itself the roles that it created. Existing memberships are not granted again, because a
 * superuser may have granted roles that this login may not grant.
 */
async function ensureMember(transaction: Knex.Transaction, user: string, roles: string[]): Promise<void> {
  const { rows } = await transaction.raw(
    `SELECT role FROM pg_roles AS login, unnest(CAST(? AS text[])) AS role
      WHERE rolname = ? AND pg_has_role(login.oid, role,
        CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END)`,
    [roles, user],
  );
  const taken = rows.map(({ role }: { role: string }) => role);
  for (const role of roles) if (!taken.includes(role)) await transaction.raw('GRANT ?? TO ??', [role, user]);
}

/** The function is STABLE although it reads the clock, because no index can serve a comparison with a VOLATILE function. */
async function ensureClock(transaction: Knex.Transaction, schemaName: string): Promise<void> {
  await transaction.raw(`
    CREATE OR REPLACE FUNCTION ${schemaName}.parley_now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$
      SELECT clock_timestamp() + coalesce(nullif(current_setting('parley.clock_offset', true), ''), '0')::interval
    $$`);
}

function sourceOf(
  migrations: Migration[],
  apply: NonNullable<MigrateOptions['apply']>,
): Knex.MigrationSource<Migration> {
  return {
    getMigrations: async () => migrations,
    getMigrationName: ({ name }) => name,
    // knex's types declare a Knex here, but knex passes the transaction.
    getMigration: async (migration) => ({
      up: (knex) => apply(migration, knex as Knex.Transaction),
      down: async () => undefined,
    }),
  };
}

/** Returns the login of a database URL. */
export function userOf(url: string): string | undefined {
  return decodeURIComponent(new URL(url).username) || undefined;
}

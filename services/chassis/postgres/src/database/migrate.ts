import { setTimeout as delay } from 'node:timers/promises';
import { isLockTimeout, transactionError } from '@parley/kernel/database-errors';
import type { Logger } from '@parley/kernel/log';
import type { Knex } from 'knex';
import { rolesOf } from './identifiers.ts';
import { bookkeepingTable, plumbingMigrations, tablesOf } from './plumbing.ts';
import { openPool } from './pool.ts';
import { applyTableKinds } from './table-kinds.ts';
import type { Migration, SchemaDeclaration } from './types.ts';

export interface MigrateOptions {
  /** The login that owns the schema. */
  url: string;
  /** The login that the service runs under; it is let into the schema's roles. */
  appUrl: string;
  schema: SchemaDeclaration;
  schemaName: string;
  log?: Logger | undefined;
  /** Applies one migration, the chassis' own included. Default: its `up`. For checks that look before and after each. */
  apply?: (migration: Migration, knex: Knex.Transaction) => Promise<void>;
  /** How long a step may wait for a table in use before all of them give way and begin again, in ms. Default 3 s. */
  lockTimeoutMs?: number;
}

/** An index on a large table takes its time. */
const statementTimeoutMs = 15 * 60_000;
/**
 * How long a step may wait for a table that is in use: whoever wants that table meanwhile waits behind it, so it rather gives up,
 * lets them pass and comes again.
 */
const defaultLockTimeoutMs = 3_000;
const lockRetries = 20;
const lockPauseMs = 1_000;

/**
 * Everything in one transaction: a schema is at one version or the other. An advisory lock, the same for all schemas
 * since roles belong to the whole server, makes those who come at once wait for each other. Behind the embedded database
 * all connections are one session, whose transactions queue before they reach the lock, so the lock is never waited for.
 * Where a table stays in use they all begin again, some twenty times, and then reject with `unavailable`.
 *
 * Answers the names of the migrations that this call applied, none when the schema was up to date.
 */
export async function migrateSchema(options: MigrateOptions): Promise<string[]> {
  const { url, appUrl, schema, schemaName, log, apply = ({ up }, knex) => up(knex) } = options;
  const { lockTimeoutMs = defaultLockTimeoutMs } = options;
  const pool = openPool({ url, poolSize: 1, statementTimeoutMs, lockTimeoutMs: statementTimeoutMs, log });
  const attempt = () =>
    pool.transaction(async (transaction) => {
      await transaction.raw(`SELECT pg_advisory_xact_lock(hashtext('parley migrations'))`);
      await transaction.raw(`SET LOCAL lock_timeout = ${Number(lockTimeoutMs)}`);
      await ensureSchema(transaction, schemaName, userOf(appUrl));
      await transaction.raw(`SET LOCAL search_path TO ${schemaName}, public`);
      await ensureClock(transaction, schemaName);
      const [, applied]: [number, string[]] = await transaction.migrate.latest({
        tableName: bookkeepingTable,
        migrationSource: sourceOf([...plumbingMigrations, ...schema.migrations], apply),
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
        log?.info(
          { schema: schemaName, tries },
          'a table that migrations change is in use; they give way and begin again',
        );
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

/** Superusers take on any role; whoever else made a role may, from PostgreSQL 16 on, only after granting it to itself. */
async function ensureMember(transaction: Knex.Transaction, user: string, roles: string[]): Promise<void> {
  const { rows } = await transaction.raw('SELECT rolsuper FROM pg_roles WHERE rolname = ?', [user]);
  if (rows[0]?.rolsuper) return;
  for (const role of roles) await transaction.raw('GRANT ?? TO ??', [role, user]);
}

/** STABLE rather than VOLATILE although it reads the clock: else no index could serve a comparison with it. */
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
    // The transaction it is handed is the one it runs in, whatever knex's types say.
    getMigration: async (migration) => ({
      up: (knex) => apply(migration, knex as Knex.Transaction),
      down: async () => undefined,
    }),
  };
}

function userOf(url: string): string | undefined {
  return decodeURIComponent(new URL(url).username) || undefined;
}

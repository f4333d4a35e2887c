import { isDatabaseError } from '@parley/kernel/database-errors';
import { openPool } from '@parley/postgres/driver/pool';
import type { Knex } from 'knex';
import { connectionProblem, hostAndPort, reasonOf, withCauses } from './connection-problem.ts';
import type { Installation } from './installation.ts';
import { type Outcome, wrong } from './outcome.ts';
import type { Login } from './postgres-logins.ts';

/** Facts about a server and a database, as one login can read them. */
export interface ServerFacts {
  version: number;
  versionName: string;
  encoding: string;
  /** Maximum number of connections for all logins without special rights. */
  connections: number;
  /** The login's connection limit; null if there is none. */
  loginConnections: number | null;
  /** The database's connection limit for logins without special rights; null if there is none. */
  databaseConnections: number | null;
  login: string;
  database: string;
  mayCreateSchemas: boolean;
  mayCreateRoles: boolean;
  /** Whether the server is a standby of another server. */
  isStandby: boolean;
  /** Whether transactions of the login are read-only by default. */
  isReadOnly: boolean;
  /** The source of the read-only setting, e.g. `database`. */
  readOnlySource: string;
  /** The available extensions. If an extension is installed in the database, its entry contains the installed version and the schema. */
  extensions: Record<string, { installed: string | null; available: string; schema: string | null } | undefined>;
  serverMs: number;
  /** This machine's time in ms before the query. */
  asked: number;
  /** This machine's time in ms after the query. */
  answered: number;
}

/** A connected login. */
export interface Connection extends Login {
  pool: Knex;
  facts: ServerFacts;
  /** `host:port/database`. */
  at: string;
}

/** Connects a login. @returns the connection, whose pool the caller must close, or the reason for the failure */
export async function connectLogin(
  login: Login,
  { now, patienceMs }: Pick<Installation, 'now' | 'patienceMs'>,
): Promise<Connection | Outcome> {
  const { at: server } = hostAndPort(login.url);
  const at = `${server}/${decodeURIComponent(new URL(login.url).pathname.slice(1))}`;
  const pool = openPool({ url: login.url, poolSize: 1, statementTimeoutMs: patienceMs, acquireTimeoutMs: patienceMs });
  try {
    await pool.raw('SELECT 1');
    const asked = now();
    const { rows } = await pool.raw(factsSql);
    return { ...login, pool, at, facts: { ...rows[0], asked, answered: now() } };
  } catch (error) {
    await pool.destroy();
    return refused(error, { ...login, at, server });
  }
}

const factsSql = `
  SELECT current_setting('server_version_num')::int AS version, current_setting('server_version') AS "versionName",
         current_setting('server_encoding') AS encoding,
         current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
           - coalesce(current_setting('reserved_connections', true)::int, 0) AS connections,
         (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user AND NOT rolsuper) AS "loginConnections",
         (SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database()
            AND current_setting('is_superuser') = 'off') AS "databaseConnections",
         current_user AS login, current_database() AS database,
         has_database_privilege(current_database(), 'CREATE') AS "mayCreateSchemas",
         (SELECT rolcreaterole OR rolsuper FROM pg_roles WHERE rolname = current_user) AS "mayCreateRoles",
         pg_is_in_recovery() AS "isStandby", current_setting('default_transaction_read_only')::boolean AS "isReadOnly",
         (SELECT source FROM pg_settings WHERE name = 'default_transaction_read_only') AS "readOnlySource",
         (SELECT coalesce(json_object_agg(name, json_build_object('installed', installed_version, 'available', default_version, 'schema',
            (SELECT nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = name))), '{}')
            FROM pg_available_extensions) AS extensions,
         (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS "serverMs"`;

interface Attempt extends Login {
  at: string;
  server: string;
}

function refused(error: unknown, { url, settings, at, server }: Attempt): Outcome {
  const { username } = new URL(url);
  const login = decodeURIComponent(username);
  const { code, routine } = withCauses(error).find(isDatabaseError) ?? {};
  const reason = reasonOf(error);
  if (code === '28P01') {
    const change = 'Correct the password, or set it by ALTER ROLE.';
    return wrong('postgres.password', settings, `${server} refuses the password of ${login}`, change);
  }
  if (code === '28000') {
    const change = `Let pg_hba.conf admit ${login} from here, and ask for TLS (sslmode) where it wants that.`;
    return wrong('postgres.login', settings, `${server} does not admit ${login}: ${reason}`, change);
  }
  if (code === '3D000') {
    const change = 'Create the database, or correct its name.';
    return wrong('postgres.database', settings, `there is no database ${at}`, change);
  }
  if (code === '42501') {
    const change = 'GRANT CONNECT ON DATABASE to it.';
    return wrong('postgres.connect', settings, `${login} may not connect to ${at}`, change);
  }
  if (code === '53300' && routine === 'InitializeSessionUserId') {
    const found = `${server} gives ${login} no more connections: its CONNECTION LIMIT is reached`;
    return wrong('postgres.login-connections', settings, found, `Raise it by ALTER ROLE ${login} CONNECTION LIMIT.`);
  }
  if (code === '53300' && routine === 'CheckMyDatabase') {
    const found = `${at} has no free connection: its CONNECTION LIMIT is reached`;
    const change = 'Raise it by ALTER DATABASE … CONNECTION LIMIT.';
    return wrong('postgres.database-connections', settings, found, change);
  }
  if (code === '53300') {
    const change = 'Raise max_connections, or lower DATABASE_POOL_SIZE.';
    return wrong('postgres.full', settings, `${server} has no free connection`, change);
  }
  const problem = code === undefined ? connectionProblem(error, server) : undefined;
  if (problem) return wrong(`postgres.${problem.kind}`, settings, problem.found, problem.change);
  return wrong('postgres.failed', settings, `${at} answers with an error: ${reason}`, 'See the log of PostgreSQL.');
}

import type { Duplex } from 'node:stream';
import { isQueryTimeout } from '@parley/kernel/database-errors';
import type { Logger } from '@parley/kernel/telemetry/log';
import knexFactory, { type Knex } from 'knex';
import { columnOf, fieldOf } from '../database/names.ts';
import { OpeningClient } from './opening-client.ts';
import type { PreparedStatements } from './prepared-statements.ts';

export interface PoolOptions {
  url: string;
  poolSize: number;
  /** How long one statement may run on the server, in ms; the client waits a quarter longer before it gives up. */
  statementTimeoutMs: number;
  /** How long a statement may wait for a row or a table that another transaction holds, in ms. Default 5 s. */
  lockTimeoutMs?: number | undefined;
  /** How long to wait for a free connection, in ms. Default 5 s. */
  acquireTimeoutMs?: number | undefined;
  /**
   * Maps names in statements from camelCase to snake_case and names in rows back, and reads bigint as number. Names inside JSON are not
   * mapped. Default: names and values are as in the database.
   */
  mapsNames?: boolean | undefined;
  /** Decides which statements are prepared. Default: none. */
  preparedStatements?: PreparedStatements | undefined;
  log?: Pick<Logger, 'debug' | 'warn' | 'error'> | undefined;
}

/** The parts of a `pg` client that this file uses directly, without knex. */
interface RawConnection {
  __knexUid: string;
  connection: {
    stream: Duplex;
    prependListener(event: 'rowDescription', listener: (message: { fields: { name: string }[] }) => void): void;
  };
  once(event: 'end', listener: () => void): void;
  setTypeParser(oid: number, parse: (text: string) => unknown): void;
}

const bigintOid = 20;

const connectTimeoutMs = 5_000;
const idleTimeoutMs = 60_000;

/**
 * A bounded pool with timeouts for all waits. Never use `searchPath` or a session `SET` with this pool: on the embedded database all
 * connections share one session, and behind a pooler any two transactions may share a session.
 */
export function openPool({
  url,
  poolSize,
  statementTimeoutMs,
  lockTimeoutMs = 5_000,
  acquireTimeoutMs = 5_000,
  mapsNames = false,
  preparedStatements,
  log,
}: PoolOptions): Knex {
  const connections = new Map<string, RawConnection>();
  // A separate constant, because knex's types lack some of these options.
  const driverOptions = {
    // Statements are sent as they are made, without waiting for the results of earlier ones.
    pipeline: true,
    statement_timeout: statementTimeoutMs,
    // Without this timeout, transactions could hold all connections while they wait for a row that a frozen process has locked.
    lock_timeout: lockTimeoutMs,
    idle_in_transaction_session_timeout: statementTimeoutMs * 1.5,
    // The embedded database ignores the server's timeouts, so the client needs this one.
    query_timeout: statementTimeoutMs * 1.25,
  };
  const pool = knexFactory({
    client: OpeningClient,
    ...(preparedStatements && { preparedStatements }),
    version: '15', // the oldest supported version; setting it saves a query on the first connection
    connection: {
      connectionString: url,
      connectionTimeoutMillis: connectTimeoutMs,
      ...driverOptions,
      keepAlive: true,
    },
    acquireConnectionTimeout: acquireTimeoutMs,
    ...(mapsNames && { wrapIdentifier: (name: string, wrap: (name: string) => string) => wrap(columnOf(name)) }),
    pool: {
      min: 0,
      max: poolSize,
      idleTimeoutMillis: idleTimeoutMs,
      afterCreate(connection: RawConnection, done: (error: Error | null, connection: RawConnection) => void) {
        connections.set(connection.__knexUid, connection);
        connection.once('end', () => connections.delete(connection.__knexUid));
        if (mapsNames) mapRows(connection);
        done(null, connection);
      },
    },
    // Disabled, because knex would write bound values into error messages.
    compileSqlOnError: false,
    log: {
      debug: (message: unknown) => log?.debug({ knex: message }, 'database driver'),
      warn: (message: unknown) => log?.warn({ knex: message }, 'database driver'),
      error: (message: unknown) => log?.error({ knex: message }, 'database driver'),
    },
  });
  pool.on('query-error', (error: Error, query: { __knexUid: string }) => {
    // The connection is closed, because the server still runs the statement and a ROLLBACK would have to wait for its end.
    if (isQueryTimeout(error)) connections.get(query.__knexUid)?.connection.stream.destroy();
  });
  return pool;
}

/**
 * Renames the columns in the row description. This is done once per statement, at no cost per row, and also works for `pluck`, which runs
 * before knex's `postProcessResponse`.
 */
function mapRows(connection: RawConnection): void {
  connection.connection.prependListener('rowDescription', ({ fields }) => {
    for (const field of fields) field.name = fieldOf(field.name);
  });
  connection.setTypeParser(bigintOid, exactNumber);
}

function exactNumber(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number)) throw new RangeError(`${text} is too large for a number; read it as text`);
  return number;
}

import type { Duplex } from 'node:stream';
import { isQueryTimeout } from '@parley/kernel/database-errors';
import type { Logger } from '@parley/kernel/log';
import knexFactory, { type Knex } from 'knex';
import { columnOf, fieldOf } from './names.ts';
import { OpeningClient } from './opening-client.ts';

export interface PoolOptions {
  url: string;
  poolSize: number;
  /** How long one statement may run, in ms; the server is told, and the client gives up after a quarter more. */
  statementTimeoutMs: number;
  /** How long a statement may wait for a row or a table that another transaction holds, in ms. Default 5 s. */
  lockTimeoutMs?: number | undefined;
  /** How long to wait for a free connection, in ms. Default 5 s. */
  acquireTimeoutMs?: number | undefined;
  /**
   * Statements and rows of a service: knex writes the names it is given in camelCase as snake_case, rows have theirs in camelCase,
   * and a bigint is a number. The inside of JSON stays as it is. Default: names and values as the database has them.
   */
  mapsNames?: boolean | undefined;
  log?: Pick<Logger, 'debug' | 'warn' | 'error'> | undefined;
}

/** What of a `pg` client is used past knex. */
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
 * A bounded pool, all of whose waits end. Never give it `searchPath`, a named statement or a session `SET`: behind
 * the embedded database all connections are one session, and behind a pooler any two transactions may share one.
 */
export function openPool({
  url,
  poolSize,
  statementTimeoutMs,
  lockTimeoutMs = 5_000,
  acquireTimeoutMs = 5_000,
  mapsNames = false,
  log,
}: PoolOptions): Knex {
  const connections = new Map<string, RawConnection>();
  // What the server is told; knex's types do not know all of it.
  const timeouts = {
    statement_timeout: statementTimeoutMs,
    // Else a frozen process that holds one row would take all connections of those who want it, one after the other.
    lock_timeout: lockTimeoutMs,
    idle_in_transaction_session_timeout: statementTimeoutMs * 1.5,
    // The embedded database ignores the server's timeouts.
    query_timeout: statementTimeoutMs * 1.25,
  };
  const pool = knexFactory({
    client: OpeningClient,
    version: '15', // the oldest that is served; saves asking on the first connection
    connection: {
      connectionString: url,
      connectionTimeoutMillis: connectTimeoutMs,
      ...timeouts,
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
    // Else knex writes the bound values into the error's message.
    compileSqlOnError: false,
    log: {
      debug: (message: unknown) => log?.debug({ knex: message }, 'database driver'),
      warn: (message: unknown) => log?.warn({ knex: message }, 'database driver'),
      error: (message: unknown) => log?.error({ knex: message }, 'database driver'),
    },
  });
  pool.on('query-error', (error: Error, query: { __knexUid: string }) => {
    // The statement is still running over there; queueing a ROLLBACK behind it would wait as long again.
    if (isQueryTimeout(error)) connections.get(query.__knexUid)?.connection.stream.destroy();
  });
  return pool;
}

/**
 * Rows are made with the names that the server describes them with. Changed there it is done once a statement, whoever reads its
 * rows (`pluck` too, which knex's `postProcessResponse` comes after), and costs nothing for each row.
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

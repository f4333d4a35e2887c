import { DomainError, unavailable } from './errors.ts';

/** What PostgreSQL says when it refuses a statement. */
export interface DatabaseError extends Error {
  /** SQLSTATE, five characters. */
  code: string;
  severity: string;
  constraint?: string;
  table?: string;
  detail?: string;
}

/** SQLSTATEs of a statement that may succeed when it is sent again, by code and by class. */
const passingCodes = new Set([
  '40001', // serialization failure
  '40P01', // deadlock
  '53300', // too many connections
  '55P03', // waited too long for a lock
  '57014', // cancelled, by our statement timeout
  '57P01', // shutting down
  '57P02', // crashed, restarting
  '57P03', // starting up
  '25P03', // idle in transaction for too long
]);
const connectionClass = /^08/;

const connectionCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
]);

/** `pg` and knex give these no code; knex puts the statement and a dash before what `pg` says. */
const connectionMessages =
  /(^| - )(Connection terminated|Client has encountered a connection error|Client was closed|timeout expired|Query read timeout|Knex: Timeout acquiring a connection|Unable to acquire a connection)/;

/** Whether the client's own clock, rather than the server's, ran out; the server may still be at the statement. */
export function isQueryTimeout(error: Error): boolean {
  return /(^| - )Query read timeout$/.test(error.message);
}

export function isDatabaseError(error: unknown): error is DatabaseError {
  return (
    error instanceof Error &&
    'severity' in error &&
    'code' in error &&
    typeof error.code === 'string' &&
    error.code.length === 5
  );
}

/** Whether a row was refused because another holds the same unique value; `constraint` names which one. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  return (
    isDatabaseError(error) && error.code === '23505' && (constraint === undefined || error.constraint === constraint)
  );
}

/** Whether a row was refused because what it refers to is not there (or is still referred to). */
export function isForeignKeyViolation(error: unknown, constraint?: string): boolean {
  return (
    isDatabaseError(error) && error.code === '23503' && (constraint === undefined || error.constraint === constraint)
  );
}

/** Whether the database was not there or could not serve just now: the same transaction may succeed later. */
export function isPassing(error: unknown): boolean {
  if (isDatabaseError(error)) return passingCodes.has(error.code) || connectionClass.test(error.code);
  if (!(error instanceof Error)) return false;
  if ('code' in error && typeof error.code === 'string' && connectionCodes.has(error.code)) return true;
  // Several addresses for one host name (::1 and 127.0.0.1) fail together.
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(isPassing);
  return connectionMessages.test(error.message);
}

/** Whether a statement waited too long for a row or a table that another transaction holds. */
export function isLockTimeout(error: unknown): boolean {
  return isDatabaseError(error) && error.code === '55P03';
}

/** Whether the server has given up a whole transaction for the sake of others, so that nothing of it is left. */
export function isRolledBack(error: unknown): boolean {
  return isDatabaseError(error) && (error.code === '40001' || error.code === '40P01');
}

/** Whether a connection that had been there was not any more, rather than that none could be had. */
export function isLostConnection(error: unknown): boolean {
  if (isDatabaseError(error)) return error.code === '57P01' || error.code === '08006';
  return (
    error instanceof Error &&
    (('code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE')) ||
      /(^| - )(Connection terminated unexpectedly|Client has encountered a connection error)/.test(error.message))
  );
}

/** What a transaction rejects with. Deadlocks and serialization failures count as passing too: nothing was written. */
export function transactionError(error: unknown): unknown {
  if (error instanceof DomainError) return error;
  if (isPassing(error)) return unavailable('The database is not available', error);
  // "Failing row contains (…)": rows do not belong in a log.
  if (isDatabaseError(error)) delete error.detail;
  return error;
}

import { DomainError, hasCode, unavailable } from './errors.ts';

export interface DatabaseError extends Error {
  code: string;
  severity: string;
  constraint?: string;
  detail?: string;
  /** The PostgreSQL function that reported the error. */
  routine?: string;
}

/** SQLSTATEs after which the same transaction may succeed later. */
const transientCodes = new Set([
  '40001', // serialization failure
  '40P01', // deadlock
  '53300', // too many connections
  '55P03', // waited too long for a lock
  '57014', // cancelled, by our statement timeout
  '57P01', // shutting down
  '57P02', // crashed, restarting
  '57P03', // starting up
  '25P03', // transaction idle for too long
]);
const connectionClass = /^08/;

const connectionCodes = [
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
];

/** Messages of `pg` and knex for errors without a code. knex prepends the statement and a dash to the message of `pg`. */
const connectionMessages =
  /(^| - )(Connection terminated|Client has encountered a connection error|Client was closed|timeout expired|Query read timeout|Knex: Timeout acquiring a connection|Unable to acquire a connection)/;

/** Reports whether the client's timeout expired, not the server's: the server may still run the statement. */
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

/** Reports whether a unique constraint was violated: any constraint, or the one named `constraint`. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  return violates(error, '23505', constraint);
}

/** Reports whether a foreign key was violated: any foreign key, or the one named `constraint`. */
export function isForeignKeyViolation(error: unknown, constraint?: string): boolean {
  return violates(error, '23503', constraint);
}

function violates(error: unknown, code: string, constraint: string | undefined): boolean {
  return isDatabaseError(error) && error.code === code && (constraint ?? error.constraint) === error.constraint;
}

/** Reports whether the database was unreachable or overloaded: the same transaction may succeed later. */
function isTransient(error: unknown): boolean {
  if (isDatabaseError(error)) return transientCodes.has(error.code) || connectionClass.test(error.code);
  if (!(error instanceof Error)) return false;
  if (hasCode(error, ...connectionCodes)) return true;
  // Connecting to a host name with several addresses (::1 and 127.0.0.1) fails with one error per address.
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(isTransient);
  return connectionMessages.test(error.message);
}

/** Reports whether a statement waited too long for a lock of another transaction. */
export function isLockTimeout(error: unknown): boolean {
  return isDatabaseError(error) && error.code === '55P03';
}

/** Reports whether the server rolled the whole transaction back: a serialization failure or a deadlock. */
export function isRolledBack(error: unknown): boolean {
  return isDatabaseError(error) && (error.code === '40001' || error.code === '40P01');
}

/** Reports whether an open connection was lost; false if no connection could be opened. */
export function isLostConnection(error: unknown): boolean {
  if (isDatabaseError(error)) return error.code === '57P01' || error.code === '08006';
  return (
    error instanceof Error &&
    (hasCode(error, 'ECONNRESET', 'EPIPE') ||
      /(^| - )(Connection terminated unexpectedly|Client has encountered a connection error)/.test(error.message))
  );
}

/**
 * Converts the error of a transaction to `unavailable` if a retry may succeed, e.g. after a deadlock or serialization failure. Other errors
 * are returned without conversion.
 */
export function transactionError(error: unknown): unknown {
  if (error instanceof DomainError) return error;
  if (isTransient(error)) return unavailable('The database is not available', error);
  // The detail may be "Failing row contains (…)", and the values of a row must not reach a log.
  if (isDatabaseError(error)) delete error.detail;
  return error;
}

/**
 * What can go wrong, told apart by who can mend it. The table in `error-table.ts` gives each kind its gRPC status,
 * GraphQL code and HTTP status.
 */
export type ErrorKind =
  | 'invalid'
  | 'unauthenticated'
  | 'forbidden'
  | 'notFound'
  | 'conflict'
  | 'tooManyRequests'
  | 'notImplemented'
  | 'unavailable'
  | 'internal';

/** One refused input value: `path` leads to it (`input.name`), `message` completes the sentence "<path> …". */
export interface FieldProblem {
  path: string;
  message: string;
}

export interface DomainErrorDetails {
  /** A second, finer name that clients can branch on, e.g. `NO_TENANT`. */
  reason?: string | undefined;
  fields?: FieldProblem[] | undefined;
  /** Stays inside the process: it is logged and never sent. */
  cause?: unknown;
}

/** An outcome that the caller is told about. Anything else that is thrown is a bug and reaches clients as INTERNAL. */
export class DomainError extends Error {
  override readonly name = 'DomainError';
  readonly kind: ErrorKind;
  readonly reason: string | undefined;
  readonly fields: FieldProblem[];

  constructor(kind: ErrorKind, message: string, details: DomainErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.kind = kind;
    this.reason = details.reason;
    this.fields = details.fields ?? [];
  }
}

/** Refused input, naming each value that is wrong. */
export function invalid(...fields: FieldProblem[]): DomainError {
  return new DomainError('invalid', fields.map(({ path, message }) => `${path} ${message}`).join('; '), { fields });
}

/** Refused for a state or a combination rather than for one value. */
export function badRequest(message: string, reason?: string): DomainError {
  return new DomainError('invalid', message, { reason });
}

/** Also the answer for what another tenant owns: absent and foreign look alike. */
export function notFound(what: string, id: number | string): DomainError {
  const told = String(id);
  const short = told.length > maxToldId ? `${told.slice(0, maxToldId)}…` : told;
  return new DomainError('notFound', `${what} ${short.toWellFormed()} not found`);
}

/** Characters of an id that a message tells: clients may send anything for one. */
const maxToldId = 40;

export function forbidden(message: string, reason?: string): DomainError {
  return new DomainError('forbidden', message, { reason });
}

export function unauthenticated(message = 'Not signed in', reason?: string): DomainError {
  return new DomainError('unauthenticated', message, { reason });
}

export function conflict(message: string, reason?: string, fields?: FieldProblem[]): DomainError {
  return new DomainError('conflict', message, { reason, fields });
}

/** A dependency is down or too slow; the same call may succeed later. */
export function unavailable(message: string, cause?: unknown): DomainError {
  return new DomainError('unavailable', message, { cause });
}

export function isDomainError(error: unknown, kind?: ErrorKind): error is DomainError {
  return error instanceof DomainError && (kind === undefined || error.kind === kind);
}

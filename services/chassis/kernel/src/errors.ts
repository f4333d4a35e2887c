import type { errorTable } from './error-table.ts';

/** Kinds of errors. `errorTable` has the gRPC status, GraphQL code and HTTP status of each kind. */
export type ErrorKind = keyof typeof errorTable;

/** One invalid input value: `path` locates it (`input.name`), `message` completes the sentence "<path> …". */
export interface FieldProblem {
  path: string;
  message: string;
}

export interface DomainErrorDetails {
  /** A more specific code for clients, e.g. `NO_TENANT`. */
  reason?: string | undefined;
  fields?: FieldProblem[] | undefined;
  /** Partial results of the failed work; JSON for clients of the GraphQL API. */
  details?: object | undefined;
  /** The cause is logged and never sent. */
  cause?: unknown;
}

/** An error that the caller sees. Any other error is a bug and reaches clients as INTERNAL. */
export class DomainError extends Error {
  override readonly name = 'DomainError';
  readonly kind: ErrorKind;
  readonly reason: string | undefined;
  readonly fields: FieldProblem[];
  /** This field is private, because loggers write all public fields of an error, and the details may contain data of the client. */
  readonly #details: object | undefined;

  constructor(kind: ErrorKind, message: string, details: DomainErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.kind = kind;
    this.reason = details.reason;
    this.fields = details.fields ?? [];
    this.#details = details.details;
  }

  get details(): object | undefined {
    return this.#details;
  }
}

/** Makes the error of invalid input; names each invalid value. */
export function invalid(...fields: FieldProblem[]): DomainError {
  return new DomainError('invalid', fields.map(({ path, message }) => `${path} ${message}`).join('; '), { fields });
}

/** Makes the error of input that is invalid because of a state or a combination of values, not because of a single value. */
export function badRequest(message: string, reason?: string): DomainError {
  return new DomainError('invalid', message, { reason });
}

/** Makes the error of an absent entity. It is also used for entities of other tenants, so that their existence is not revealed. */
export function notFound(what: string, id: number | string): DomainError {
  const text = String(id);
  const short = text.length > maxIdLength ? `${text.slice(0, maxIdLength)}…` : text;
  return new DomainError('notFound', `${what} ${short.toWellFormed()} not found`);
}

/** Maximum length of an id in a message, because clients may send any text as an id. */
const maxIdLength = 40;

export function forbidden(message: string, reason?: string): DomainError {
  return new DomainError('forbidden', message, { reason });
}

export function unauthenticated(message = 'Not signed in', reason?: string): DomainError {
  return new DomainError('unauthenticated', message, { reason });
}

export function conflict(message: string, reason?: string, fields?: FieldProblem[]): DomainError {
  return new DomainError('conflict', message, { reason, fields });
}

/** Makes the error of a dependency that is down or too slow; the same call may succeed later. */
export function unavailable(message: string, cause?: unknown): DomainError {
  return new DomainError('unavailable', message, { cause });
}

/** Reports whether an error of Node.js has one of these codes, e.g. `ENOENT`. */
export function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

export function isDomainError(error: unknown, kind?: ErrorKind): error is DomainError {
  return error instanceof DomainError && (kind === undefined || error.kind === kind);
}

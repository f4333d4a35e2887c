import { errorTable, internalMessage, type Outcome } from '@parley/kernel/error-table';
import { type DomainError, isDomainError } from '@parley/kernel/errors';
import type { Logger } from '@parley/kernel/telemetry/log';
import { isAbortError } from '@parley/kernel/timing/abort';
import { GraphQLError, type GraphQLFormattedError } from 'graphql';
import { refusedValue } from './refused-value.ts';

/**
 * Returns an error in the contract's format: `message`, and `extensions` with code and statusCode. If known, `extensions` also contains
 * reason, fields and details.
 */
export function graphError({ kind, message, reason, fields, details }: DomainError): GraphQLError {
  const { code, http } = errorTable[kind];
  return new GraphQLError(kind === 'internal' ? internalMessage : message, {
    extensions: {
      code,
      statusCode: http,
      ...(reason && { reason }),
      ...(fields.length > 0 && { fields }),
      ...(details && { details }),
    },
  });
}

/**
 * Returns the outcome for metrics, derived from the errors as clients see them. `NOT_IMPLEMENTED` counts as refused, because no operator
 * can help.
 */
export function graphOutcome(errors: readonly GraphQLFormattedError[] = []): Outcome {
  if (errors.length === 0) return 'ok';
  return errors.every(({ extensions }) => isRefusal(Number(extensions?.statusCode))) ? 'refused' : 'error';
}

function isRefusal(status: number): boolean {
  return status < 500 || status === 501;
}

/**
 * Formats an error of a resolver. A DomainError gets the contract's shape; GraphQL's own errors (syntax, validation, variables) keep their
 * code and get the status 400; any other error is logged and masked. When the caller itself aborted the operation, the error is not a
 * failure and not logged.
 */
export function formatGraphError(log: Pick<Logger, 'warn' | 'error'>) {
  return (formatted: GraphQLFormattedError, thrown: unknown): GraphQLFormattedError => {
    const original = thrown instanceof GraphQLError && thrown.originalError ? thrown.originalError : thrown;
    const place = {
      ...(formatted.path && { path: formatted.path }),
      ...(formatted.locations && { locations: formatted.locations }),
    };
    if (isDomainError(original)) {
      if ((original.kind === 'internal' || original.kind === 'unavailable') && !isAbortError(original.cause)) {
        log.warn({ err: original }, 'operation failed');
      }
      return { ...graphError(original).toJSON(), ...place };
    }
    const refused = thrown instanceof GraphQLError ? refusedValue(thrown) : undefined;
    if (refused !== undefined) {
      return { message: refused, ...place, extensions: { code: 'BAD_USER_INPUT', statusCode: 400 } };
    }
    const code = formatted.extensions?.code;
    if (original instanceof GraphQLError && typeof code === 'string' && code !== 'INTERNAL_SERVER_ERROR') {
      // `http` is removed, because the gateway's server would use it as the status of its whole response.
      const { stacktrace: _, http: __, ...extensions } = formatted.extensions ?? {};
      return { message: formatted.message, ...place, extensions: { statusCode: 400, ...extensions } };
    }
    if (!isAbortError(original)) log.error({ err: original, path: formatted.path }, 'operation failed');
    return { message: internalMessage, ...place, extensions: { code: 'INTERNAL', statusCode: 500 } };
  };
}

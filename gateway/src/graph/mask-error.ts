import { errorTable, internalMessage } from '@parley/kernel/error-table';
import type { Logger } from '@parley/kernel/telemetry/log';
import { GraphQLError, type GraphQLFormattedError } from 'graphql';

const knownCodes = new Set([
  ...Object.values(errorTable).map(({ code }) => code),
  'PLATFORM_REQUIRED',
  'DEPTH_LIMIT',
  'COMPLEXITY_LIMIT',
]);
const apolloCodes = new Set([
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'BAD_USER_INPUT',
  'OPERATION_RESOLUTION_FAILURE',
  'PERSISTED_QUERY_NOT_SUPPORTED',
]);

/** Passes errors of the contract with their extensions; logs and masks all others. */
export function maskError(log: Logger) {
  return (formatted: GraphQLFormattedError, thrown: unknown): GraphQLFormattedError => {
    const { code, statusCode, reason, fields, details } = formatted.extensions ?? {};
    const place = {
      ...(formatted.path && { path: formatted.path }),
      ...(formatted.locations && { locations: formatted.locations }),
    };
    if (typeof code === 'string' && knownCodes.has(code) && typeof statusCode === 'number') {
      const extensions = {
        code,
        statusCode,
        ...(reason !== undefined && { reason }),
        ...(fields !== undefined && { fields }),
        ...(details !== undefined && { details }),
      };
      return { message: formatted.message, ...place, extensions };
    }
    if (typeof code === 'string' && apolloCodes.has(code)) {
      return { message: formatted.message, ...place, extensions: { code, statusCode: 400 } };
    }
    if (code === 'BAD_REQUEST') return { message: formatted.message, ...place, extensions: { code, statusCode: 400 } };
    log.error({ err: thrown instanceof GraphQLError ? (thrown.originalError ?? thrown) : thrown }, 'operation failed');
    return { message: internalMessage, ...place, extensions: { code: 'INTERNAL', statusCode: 500 } };
  };
}

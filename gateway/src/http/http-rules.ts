import { errorTable } from '@parley/kernel/error-table';
import { isDomainError } from '@parley/kernel/errors';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { ErrorRequestHandler, RequestHandler, Response } from 'express';

export function refuse(response: Response, status: number, message: string, code = 'BAD_REQUEST'): void {
  response.status(status).json({ errors: [{ message, extensions: { code, statusCode: status } }] });
}

export function hostNamed(): RequestHandler {
  return (request, response, next) => {
    if (request.httpVersion === '1.1' && request.headers.host === undefined) {
      response.setHeader('connection', 'close');
      return refuse(response, 400, 'The header host is missing');
    }
    next();
  };
}

const answerTypes = ['application/json; charset=utf-8', 'application/graphql-response+json; charset=utf-8'];

export function postOnly(): RequestHandler {
  return (request, response, next) => {
    if (request.method !== 'POST') {
      response.setHeader('allow', 'POST, OPTIONS');
      return refuse(response, 405, 'Send operations by POST');
    }
    if (!request.is('application/json')) return refuse(response, 415, 'Send the operation as application/json');
    const type = request.accepts(answerTypes);
    if (type === false) return refuse(response, 406, `Operations are answered as ${answerTypes.join(' or ')}`);
    request.headers.accept = type; // Apollo Server checks the Accept header only after execution
    if (request.header('x-app-platform') !== 'customer') {
      return refuse(response, 400, 'The header x-app-platform must be customer', 'PLATFORM_REQUIRED');
    }
    next();
  };
}

export function oneOperation(): RequestHandler {
  return (request, response, next) => {
    if (response.headersSent) return; // the request was refused while the body was arriving
    const body: unknown = request.body;
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      return refuse(response, 400, 'The body must be a JSON object with query and, if any, variables');
    }
    next();
  };
}

/** Handles errors before an operation is known, such as malformed bodies. */
export function failedRequests(log: Logger): ErrorRequestHandler {
  return (error: Error & { status?: number; type?: string; limit?: number }, _request, response, _next) => {
    if (response.headersSent) return; // the request has already been refused
    if (error.type === 'entity.too.large') return refuse(response, 413, bodyTooLarge(error.limit ?? 0));
    if (error.type === 'entity.too.many.values')
      return refuse(response, 400, `The body holds more than ${error.limit} values`);
    if (error.type === 'entity.parse.failed') return refuse(response, 400, 'The body is no JSON in UTF-8');
    if (error.status && error.status < 500) return refuse(response, error.status, 'The request cannot be read');
    if (isDomainError(error, 'unavailable')) {
      return refuse(response, errorTable.unavailable.http, error.message, errorTable.unavailable.code);
    }
    log.error({ err: error }, 'request failed');
    refuse(response, 500, 'Something went wrong on our side', 'INTERNAL');
  };
}

export function bodyTooLarge(limit: number): string {
  return `The body is larger than ${limit} bytes`;
}

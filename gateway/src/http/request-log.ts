import type { IncomingMessage, ServerResponse } from 'node:http';
import { context as otel, SpanKind, trace } from '@opentelemetry/api';
import { requestIdFrom } from '@parley/kernel/http/request-id';
import type { Logger } from '@parley/kernel/telemetry/log';
import { withRequestId } from '@parley/kernel/telemetry/request-context';

/** Facts for the log line of a request, without any text from the client. */
export interface RequestFacts {
  operations?: string[];
  failed?: boolean;
}

/**
 * Logs one line at the end of each request; `outcome` is `aborted` when the client disconnected before its response. `ms` includes
 * queueing.
 */
export function requestLog(log: Logger) {
  const tracer = trace.getTracer('parley.gateway');
  return (request: IncomingMessage, response: ServerResponse, next: () => void): void => {
    const started = performance.now();
    const requestId = requestIdFrom(request.headers['x-request-id']);
    const facts: RequestFacts = {};
    Object.assign(response, { locals: { requestId, facts } }); // Express keeps existing `locals`
    response.setHeader('x-request-id', requestId);
    // Starts a new trace, because a parent that a client sends is not trusted.
    const span = tracer.startSpan('gateway request', { kind: SpanKind.SERVER, root: true });
    const inRequest = (work: () => void) =>
      otel.with(trace.setSpan(otel.active(), span), () => withRequestId(requestId, work));
    response.once('close', () => {
      span.end();
      const { statusCode: status } = response;
      const ms = Math.round(performance.now() - started);
      const answered = facts.failed || status >= 400 ? 'error' : 'ok';
      const outcome = response.writableFinished ? answered : 'aborted';
      inRequest(() => log.info({ operations: facts.operations, status, outcome, ms }, 'request'));
    });
    inRequest(next);
  };
}

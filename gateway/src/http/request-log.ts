import { context as otel, SpanKind, trace } from '@opentelemetry/api';
import type { Logger } from '@parley/chassis/log';
import { withRequestId } from '@parley/chassis/request-context';
import type { RequestHandler } from 'express';
import { requestIdFrom } from './request-id.ts';

/** Facts for the log line of a request, without any text from the client. */
export interface RequestFacts {
  operations?: string[];
  failed?: boolean;
}

/** Logs one line at the end; `outcome` is `aborted` when the client disconnected before its response. */
export function requestLog(log: Logger): RequestHandler {
  const tracer = trace.getTracer('parley.gateway');
  return (request, response, next) => {
    const started = performance.now();
    const requestId = requestIdFrom(request.header('x-request-id'));
    const facts: RequestFacts = {};
    Object.assign(response.locals, { requestId, facts });
    response.setHeader('x-request-id', requestId);
    // A new trace, because the parent sent by a client is not trusted.
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

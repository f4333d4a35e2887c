import { context as otel, SpanKind, trace } from '@opentelemetry/api';
import type { Logger } from '@parley/chassis/log';
import { withRequestId } from '@parley/chassis/request-context';
import type { RequestHandler } from 'express';
import { requestIdFrom } from './request-id.ts';

/** What becomes known of a request while it is answered, for its log line. Names are the schema's, never the client's text. */
export interface RequestFacts {
  /** Its root fields, each once. */
  operations?: string[];
  failed?: boolean;
}

/**
 * Gives a request its id and its trace, `response.locals.requestId` and `.facts`, and logs one line when it is over. `outcome` is
 * `aborted` where the client went away before it had its answer.
 */
export function requestLog(log: Logger): RequestHandler {
  const tracer = trace.getTracer('parley.gateway');
  return (request, response, next) => {
    const started = performance.now();
    const requestId = requestIdFrom(request.header('x-request-id'));
    const facts: RequestFacts = {};
    Object.assign(response.locals, { requestId, facts });
    response.setHeader('x-request-id', requestId);
    // A trace begins here: what an outsider sends as its parent is not believed to be one of ours.
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

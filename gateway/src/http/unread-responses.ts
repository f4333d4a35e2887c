import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { byteBudget } from '../limits/byte-budget.ts';
import { refuse } from './http-rules.ts';

/** Shorter responses are always sent, because they take about as much memory as their connection. */
const uncountedBytes = 65_536;

/** Limits unread responses: a client may leave a quarter of `maxAnswersBytes` unread. A long response over the limit becomes an error. */
export function limitUnreadResponses(
  { maxAnswersBytes }: { maxAnswersBytes: number },
  clientOf: (request: IncomingMessage) => string,
): RequestHandler {
  const budget = byteBudget(maxAnswersBytes);
  return (request, response, next) => {
    const send = response.send.bind(response);
    response.send = (body: unknown) => {
      const bytes = typeof body === 'string' || Buffer.isBuffer(body) ? Buffer.byteLength(body) : 0;
      if (bytes === 0) return send(body);
      const client = clientOf(request);
      const refusal = bytes > uncountedBytes ? budget.refusal(client, bytes) : undefined;
      response.send = send;
      if (refusal === 'client') {
        refuse(response, 429, 'This address leaves too many answers unread', 'TOO_MANY_REQUESTS');
      } else if (refusal === 'all') {
        refuse(response, 503, 'Too much is being answered at the moment; try again in a while', 'UNAVAILABLE');
      } else {
        budget.add(client, bytes);
        response.once('close', () => budget.add(client, -bytes));
        send(body);
      }
      return response;
    };
    next();
  };
}

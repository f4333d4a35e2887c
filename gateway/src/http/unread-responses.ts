import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { byteBudget } from '../limits/byte-budget.ts';
import { refuse } from './http-rules.ts';

/** An answer up to this length is always sent: it takes about what its connection does. */
const uncountedBytes = 65_536;

/**
 * Bounds what is written and not read yet: of one client a quarter of `maxAnswersBytes`. A long answer that finds no budget is
 * not sent, and the client is told so in its place.
 */
export function limitUnreadResponses(
  { maxAnswersBytes }: { maxAnswersBytes: number },
  clientOf: (request: IncomingMessage) => string,
): RequestHandler {
  const budget = byteBudget(maxAnswersBytes);
  return (request, response, next) => {
    const send = response.send.bind(response);
    response.send = (body: unknown) => {
      const bytes = typeof body === 'string' ? Buffer.byteLength(body) : 0;
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

import { AsyncLocalStorage } from 'node:async_hooks';
import type { AnswerHead, Outbound, OutboundRequest } from '@parley/outbound/outbound';

/** What one call has cost of the network. */
export interface CallMeter {
  /** HTTP requests that were made, or refused by the guard. */
  requests: number;
  /** The status of the last answer; null without one. */
  status: number | null;
  /** Of all answers, as they were read. */
  bytes: number;
}

/** By context, because MCP's client makes requests of its own for a call. */
const meters = new AsyncLocalStorage<CallMeter>();

export async function metered<T>(work: (meter: CallMeter) => Promise<T>): Promise<T> {
  const meter: CallMeter = { requests: 0, status: null, bytes: 0 };
  return meters.run(meter, () => work(meter));
}

/** The guard, which counts what goes through it for the call in whose context it is used. */
export function meteredOutbound(guard: Outbound): Outbound {
  function begin(request: OutboundRequest): { meter: CallMeter | undefined; counted: OutboundRequest } {
    const meter = meters.getStore();
    if (!meter) return { meter, counted: request };
    meter.requests += 1;
    const onHead = (head: AnswerHead) => {
      meter.status = head.status;
      request.onHead?.(head);
    };
    return { meter, counted: { ...request, onHead } };
  }

  return {
    urlProblem: guard.urlProblem,
    async fetch(url, request) {
      const { meter, counted } = begin(request);
      const answer = await guard.fetch(url, counted);
      if (meter) meter.bytes += answer.body.length;
      return answer;
    },
    async stream(url, request) {
      const { meter, counted } = begin(request);
      const answer = await guard.stream(url, counted);
      return meter ? { ...answer, body: countedBody(answer.body, meter) } : answer;
    },
  };
}

async function* countedBody(body: AsyncIterable<Buffer>, meter: CallMeter): AsyncGenerator<Buffer, void> {
  for await (const chunk of body) {
    meter.bytes += chunk.length;
    yield chunk;
  }
}

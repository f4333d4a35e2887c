import { AsyncLocalStorage } from 'node:async_hooks';
import type { Outbound, OutboundRequest, OutboundStream } from '@parley/outbound/outbound';
import type { AnswerHead } from '@parley/outbound/send-hop';

/** Network use of one call. */
export interface CallMeter {
  /** Number of HTTP requests, including those that the outbound guard refused. */
  requests: number;
  /** HTTP status of the last response; null if there was none. */
  status: number | null;
  /** Number of bytes read from all response bodies. */
  bytes: number;
}

/** Meters are stored by async context, because the MCP client sends additional requests for a call. */
const meters = new AsyncLocalStorage<CallMeter>();

export async function metered<T>(work: (meter: CallMeter) => Promise<T>): Promise<T> {
  const meter: CallMeter = { requests: 0, status: null, bytes: 0 };
  return meters.run(meter, () => work(meter));
}

/**
 * Wraps the outbound guard. Adds requests and bytes to the meter of the current async context.
 * @param received is called with the size of each received chunk; if it throws, the remaining chunks are refused
 */
export function meteredOutbound(guard: Outbound, received: (bytes: number) => void): Outbound {
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

  async function stream(url: string, request: OutboundRequest): Promise<OutboundStream> {
    const { meter, counted } = begin(request);
    const answer = await guard.stream(url, counted);
    async function* countedBody(): AsyncGenerator<Buffer, void> {
      for await (const chunk of answer.body) {
        if (meter) meter.bytes += chunk.length;
        received(chunk.length);
        yield chunk;
      }
    }
    return { ...answer, body: countedBody() };
  }

  return {
    urlProblem: guard.urlProblem,
    async fetch(url, request) {
      const { body, cancel: _, ...head } = await stream(url, request);
      const chunks: Buffer[] = [];
      for await (const chunk of body) chunks.push(chunk);
      return { ...head, body: Buffer.concat(chunks) };
    },
    stream,
  };
}

import { AsyncLocalStorage } from 'node:async_hooks';
import type { AnswerHead, Outbound, OutboundRequest, OutboundStream } from '@parley/outbound/outbound';

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

/** The guard, which counts what goes through it for the call in whose context it is used. @param received throws where that is too much */
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

import { eventMeter } from './event-meter.ts';
import type { Outbound, OutboundRequest } from './outbound.ts';
import { broken } from './outbound-errors.ts';

export interface FetchLimits {
  timeoutMs: number;
  /** Maximum wait for the head of the response, and for each piece of its body. Default: limited only by `timeoutMs`. */
  idleMs?: number;
  maxBytes: number;
  /** Maximum size of one event of an SSE stream. Default: `maxBytes`. */
  maxEventBytes?: number;
}

export type GuardedFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * A `fetch` for libraries that accept one. It enforces the policy and limits of `Outbound`, and throws the errors of `Outbound`, also while
 * the body of a response is read. Redirects are refused. The connection is closed when this body has ended, when it was cancelled, or when
 * the signal aborts. The body of a request must be a text or bytes.
 * @param limits of one request
 */
export function guardedFetch({ stream }: Pick<Outbound, 'stream'>, limits: FetchLimits): GuardedFetch {
  return async (url, { method, headers, body, signal } = {}) => {
    const answer = await stream(String(url), {
      ...limits,
      method: (method?.toUpperCase() ?? 'GET') as NonNullable<OutboundRequest['method']>,
      headers: Object.fromEntries(new Headers(headers)),
      ...(body == null ? {} : { body: asSent(body) }),
      signal: signal ?? undefined,
    });
    const { status } = answer;
    const isEmpty = withoutBody.has(status) || method?.toUpperCase() === 'HEAD' || status > maxStatus;
    if (isEmpty) answer.cancel();
    if (status > maxStatus) throw broken(new Error('unknown status'));
    return new Response(isEmpty ? null : webStream(answer, limits), { status, headers: headersOf(answer.headers) });
  };
}

const withoutBody = new Set([204, 205, 304]);
/** The highest status that a `Response` can have. */
const maxStatus = 599;

/** Headers about the body as it was sent, which are wrong for the decoded body. */
const aboutSentBody = new Set(['content-encoding', 'content-length', 'transfer-encoding']);

function asSent(body: NonNullable<RequestInit['body']>): string | Uint8Array {
  if (typeof body === 'string' || body instanceof Uint8Array) return body;
  throw new TypeError('The body must be a text or bytes');
}

function headersOf(received: Record<string, string>): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(received)) {
    if (aboutSentBody.has(name)) continue;
    try {
      headers.set(name, value);
    } catch {
      // `Headers` cannot store this value, so nobody could read it; it is omitted.
    }
  }
  return headers;
}

type Answer = Awaited<ReturnType<Outbound['stream']>>;

function webStream({ headers, body, cancel }: Answer, { maxBytes, maxEventBytes = maxBytes }: FetchLimits) {
  const isEvents = /^text\/event-stream\b/iu.test(headers['content-type'] ?? '');
  const check = isEvents ? eventMeter(maxEventBytes) : undefined;
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        try {
          const { done, value } = await body.next();
          if (done) return controller.close();
          check?.(value);
          controller.enqueue(new Uint8Array(value));
        } catch (error) {
          cancel();
          controller.error(error);
        }
      },
      cancel,
    },
    { highWaterMark: 0 },
  );
}

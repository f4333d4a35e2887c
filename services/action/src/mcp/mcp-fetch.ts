import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { isJsonObject, parseJson } from '@parley/kernel/json';
import { type GuardedFetch, guardedFetch } from '@parley/outbound/guarded-fetch';
import type { Outbound } from '@parley/outbound/outbound';
import { StatusError, unreachable } from './connector-errors.ts';
import { eventMessages, type WorkOn } from './event-messages.ts';
import { type Exchange, exchanges } from './exchange.ts';
import { answers, forClient, messagesOf, parsedMessage } from './messages.ts';

/** Limits for requests whose response is ignored: notifications, replies to the server's own requests, and the end of a session. */
const plainLimits = { timeoutMs: 5_000, maxBytes: 65_536 };
/** Limits for responses. They are higher than `maxResultBytes`, because a response may also contain images in base64. */
const answerLimits = { maxBytes: 6 * 2 ** 20, maxEventBytes: 4 * 2 ** 20 };
const maxResumed = 100;
/** JSON-RPC codes for an unknown method and for invalid arguments. Some servers send them with status 400 or 404. */
const refusals = new Set<unknown>([-32_601, -32_602]);

/**
 * Creates the `fetch` for the SDK's transport. It sends requests through the outbound guard, applies limits, and tolerates servers that
 * violate the protocol.
 */
export function mcpFetch(outbound: Pick<Outbound, 'stream'>, workOn: WorkOn): FetchLike {
  const plain = guardedFetch(outbound, plainLimits);

  async function send(exchange: Exchange, url: string | URL, init: RequestInit): Promise<Response> {
    exchange.id = idOf(init.body);
    const headers = new Headers(init.headers);
    for (const [name, value] of Object.entries(exchange.headers)) headers.set(name, value);
    const response = await fetchOf(outbound, exchange)(url, { ...init, headers, signal: signalOf(exchange, init) });
    return response.ok ? answerOf(exchange, response, workOn) : refusalOf(exchange, response);
  }

  async function resume(exchange: Exchange, url: string | URL, init: RequestInit): Promise<Response> {
    exchange.resumed += 1;
    const response = await fetchOf(outbound, exchange)(url, { ...init, signal: signalOf(exchange, init) });
    if (response.ok && exchange.resumed <= maxResumed && isEvents(response))
      return answerOf(exchange, response, workOn);
    await response.body?.cancel();
    // The exchange does not fail with the StatusError itself: a StatusError with 404 would mean that the server did not process the
    // request.
    exchange.fail(unreachable(response.ok ? new Error('not resumed') : new StatusError(response.status)));
    return new Response(null, { status: 405 });
  }

  return (url, init = {}) => {
    const exchange = exchanges.getStore();
    // The SDK requests a stream of unsolicited messages. The SDK gets status 405, as if the server had no such stream, so no connection
    // stays open.
    if (init.method === 'GET' && !new Headers(init.headers).has('last-event-id'))
      return Promise.resolve(new Response(null, { status: 405 }));
    if (exchange?.isOver) return Promise.resolve(new Response(null, { status: 202 }));
    if (exchange && init.method === 'GET') return resume(exchange, url, init);
    if (exchange && init.method === 'POST' && exchange.id === undefined) return send(exchange, url, init);
    return plain(url, init);
  };
}

function fetchOf(outbound: Pick<Outbound, 'stream'>, { timeoutMs, room }: Exchange): GuardedFetch {
  const maxBytes = Math.min(answerLimits.maxBytes, room?.remainingBytes ?? answerLimits.maxBytes);
  const maxEventBytes = Math.min(answerLimits.maxEventBytes, maxBytes);
  return guardedFetch(outbound, { maxBytes, maxEventBytes, timeoutMs });
}

/** While a body is read, subtracts its bytes from the bytes that the exchange may still receive. */
function counted({ room }: Exchange, body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  if (!room) return body;
  return body.pipeThrough(
    new TransformStream({
      transform(chunk, controller) {
        room.remainingBytes = Math.max(0, room.remainingBytes - chunk.length);
        controller.enqueue(chunk);
      },
    }),
  );
}

function signalOf({ signal }: Exchange, init: RequestInit): AbortSignal {
  return init.signal ? AbortSignal.any([signal, init.signal]) : signal;
}

async function answerOf(exchange: Exchange, response: Response, workOn: WorkOn): Promise<Response> {
  const { status, headers } = response;
  const body = response.body && counted(exchange, response.body);
  if (body && isEvents(response))
    return new Response(body.pipeThrough(eventMessages(exchange, workOn)), { status, headers });
  const text = await new Response(body).text();
  const answer = await workOn(text.length, () => answerIn(exchange, text));
  if (!answer) throw unreachable(new Error('no answer in JSON-RPC'));
  return jsonResponse(exchange, answer, headers);
}

/** Reads an HTTP error response. @throws StatusError unless the body is the JSON-RPC error response to this request */
async function refusalOf(exchange: Exchange, response: Response): Promise<Response> {
  const { status, headers } = response;
  const mayBeAnswer = status < 500 && status !== 401 && status !== 403;
  const answer = mayBeAnswer ? answerIn(exchange, await response.text().catch(() => '')) : undefined;
  if (!isJsonObject(answer?.error) || !refusals.has(answer.error.code)) throw new StatusError(status);
  return jsonResponse(exchange, answer, headers);
}

function isEvents({ headers }: Response): boolean {
  return /^text\/event-stream\b/iu.test(headers.get('content-type') ?? '');
}

/** Finds the response to the exchange's request; other messages of a batch are ignored. */
function answerIn({ id = '' }: Exchange, body: string): Record<string, unknown> | undefined {
  return messagesOf(parsedMessage(body)).find((message) => answers(message, id));
}

/** Returns the id in a request that the SDK has serialized. */
function idOf(body: RequestInit['body']): string {
  const message = parseJson(String(body));
  return isJsonObject(message) ? String(message.id) : '';
}

function jsonResponse(exchange: Exchange, answer: Record<string, unknown>, received: Headers): Response {
  exchange.isAnswered = true;
  const headers = new Headers(received);
  headers.set('content-type', 'application/json');
  return new Response(JSON.stringify(forClient(exchange, answer)), { headers });
}

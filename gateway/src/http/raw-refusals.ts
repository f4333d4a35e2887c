import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { requestIdFrom } from '@parley/kernel/http/request-id';

export interface RawRefusal {
  status: number;
  message: string;
  code?: string;
  requestId?: unknown;
}

/** Refusals by Node error code; any other code gets status 400. */
const unreadable: Record<string, RawRefusal> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'The request took too long to arrive' },
  HPE_HEADER_OVERFLOW: { status: 431, message: 'The headers are too large' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, message: 'The extensions of a chunk are too large' },
};

export function refuseRaw(
  stream: Duplex,
  { status, message, code = 'BAD_REQUEST', requestId: given }: RawRefusal,
): void {
  const body = JSON.stringify({ errors: [{ message, extensions: { code, statusCode: status } }] });
  stream.on('error', () => stream.destroy());
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestIdFrom(given)}`,
  ];
  stream.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => stream.destroy());
}

/** Sends an error in the format of the API, with a request id, for requests that Node itself would refuse. */
export function refuseUnreadable(http: Server): void {
  const answers = new WeakMap<Duplex, ServerResponse>();
  http.prependListener('request', (request, response) => answers.set(request.socket, response));
  http.on('clientError', (error: Error & { code?: string }, stream) => {
    const answer = answers.get(stream);
    const isUnderWay = answer?.headersSent && !answer.writableFinished;
    if (!stream.writable || isUnderWay || error.code === 'ECONNRESET') return stream.destroy();
    const { status, message } = unreadable[error.code ?? ''] ?? { status: 400, message: 'The request is no HTTP' };
    const requestId = answer?.writableFinished ? undefined : answer?.getHeader('x-request-id');
    return refuseRaw(stream, { status, message, requestId });
  });
  http.on('checkExpectation', ({ headers, socket }: IncomingMessage) => {
    const message = 'Nothing but 100-continue can be expected';
    refuseRaw(socket, { status: 417, message, requestId: headers['x-request-id'] });
  });
  http.on('connect', ({ headers }: IncomingMessage, stream: Duplex) => {
    refuseRaw(stream, { status: 405, message: 'This is no proxy', requestId: headers['x-request-id'] });
  });
}

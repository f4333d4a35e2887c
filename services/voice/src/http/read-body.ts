import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { readWithin } from '@parley/kernel/http/read-within';
import { parseJson } from '@parley/kernel/json';

/** A refusal with an HTTP status that no `DomainError` maps to. */
export class HttpRefusal extends Error {
  override readonly name = 'HttpRefusal';
  readonly status: number;
  readonly code: string;

  constructor(status: number, message: string, code = 'BAD_REQUEST') {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/**
 * Reads a JSON object and reports its bytes to `take` as they arrive. If `optional`, a missing body is an empty object.
 * @throws HttpRefusal if the body is larger than `maxBytes`, or is not a JSON object of the type `application/json`
 * @throws the error of `take`, e.g. if the memory budget is used up
 */
export async function readJsonBody(
  request: IncomingMessage,
  maxBytes: number,
  take: (bytes: number) => void,
  optional = false,
): Promise<object> {
  const { 'content-length': length = '0', 'transfer-encoding': transfer } = request.headers;
  if (optional && Number(length) === 0 && transfer === undefined) return {};
  const type = request.headers['content-type'] ?? '';
  if (!/^application\/json\s*(;|$)/iu.test(type)) throw new HttpRefusal(415, 'Send the body as application/json');
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') throw new HttpRefusal(415, 'Send the body without content-encoding');
  const tooLarge = () => new HttpRefusal(413, `The body is larger than ${maxBytes} bytes`);
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge();
  const body = await readWithin(counted(request, take), maxBytes, tooLarge);
  const value = isUtf8(body) ? parseJson(body.toString()) : undefined;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new HttpRefusal(400, 'The body must be a JSON object in UTF-8');
  return value;
}

async function* counted(request: IncomingMessage, take: (bytes: number) => void): AsyncGenerator<Buffer> {
  for await (const chunk of request) {
    take(chunk.length);
    yield chunk;
  }
}

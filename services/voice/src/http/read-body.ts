import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { unavailable } from '@parley/kernel/errors';
import { parseJson } from '@parley/kernel/json';
import { readWithin } from '@parley/kernel/read-within';

/** A refusal by an HTTP status that no kind of `DomainError` has. */
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

/** Bounds the bytes of all bodies together. */
export interface BodyBudget {
  take(bytes: number): void;
  giveBack(bytes: number): void;
}

export function bodyBudget(maxBytes: number): BodyBudget {
  let held = 0;
  return {
    take(bytes) {
      if (held + bytes > maxBytes) throw unavailable('Too many requests at once; try again in a moment');
      held += bytes;
    },
    giveBack(bytes) {
      held -= bytes;
    },
  };
}

/**
 * Reads a JSON object, whose bytes stay in the budget until the function that is given is called with them.
 * @throws HttpRefusal for another type, size or content; DomainError `unavailable` where the budget is used up
 */
export async function readJsonBody(
  request: IncomingMessage,
  maxBytes: number,
  take: (bytes: number) => void,
): Promise<object> {
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

import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import express, { type RequestHandler, type Response } from 'express';
import { type ByteBudget, byteBudget } from '../limits/byte-budget.ts';
import { holdsMoreValues } from '../limits/json-values.ts';
import { bodyTooLarge, refuse } from './http-rules.ts';

/**
 * Maximum number of JSON values in a body: as many as 64 KB of metadata can contain. Bodies of up to `uncheckedBytes` are accepted without
 * counting their values.
 */
const maxValues = 45_000;
const uncheckedBytes = 20_000;

export interface BodyLimits {
  maxBodyBytes: number;
  maxLongBodyBytes: number;
  maxBodiesBytes: number;
}

/** Bodies of up to this size have a separate budget, so that longer ones cannot block them. */
const shortBodyBytes = 65_536;

const shortBodiesShare = 1 / 2;

/** Estimated memory of a chunk beside its bytes, so that many tiny chunks count too. */
const chunkOverheadBytes = 128;

const decoder = new TextDecoder(); // removes a byte order mark

export interface Bodies {
  receive: RequestHandler[];
  parse: RequestHandler;
  bytesOf(request: IncomingMessage): number;
}

/**
 * Reads request bodies. A body over `maxBodyBytes` must contain the name of one of `longOperations`. After parsing, the gateway checks that
 * the requested operation is one of them.
 */
export function requestBodies(
  { maxBodyBytes, maxLongBodyBytes, maxBodiesBytes }: BodyLimits,
  longOperations: readonly string[],
  clientOf: (request: IncomingMessage) => string,
): Bodies {
  const sizes = new WeakMap<IncomingMessage, number>();
  const long = byteBudget(maxBodiesBytes);
  const short = byteBudget(maxBodiesBytes * shortBodiesShare);

  /** Sends a refusal and returns true when the budget is exhausted. */
  function refuseOverBudget(budget: ByteBudget, client: string, more: number, response: Response): boolean {
    const refusal = budget.refusal(client, more);
    if (!refusal) return false;
    response.setHeader('connection', 'close'); // the rest of the body is not wanted
    if (refusal === 'client') refuse(response, 429, 'This address is sending too much at once', 'TOO_MANY_REQUESTS');
    else refuse(response, 503, 'Too much is being sent at the moment; try again in a while', 'UNAVAILABLE');
    return true;
  }

  const admit: RequestHandler = (request, response, next) => {
    const encoding = request.headers['content-encoding'] ?? 'identity';
    // The size of a compressed body is unknown until it is decompressed.
    if (encoding.toLowerCase() !== 'identity') return refuse(response, 415, 'Send the body uncompressed');
    const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(request.headers['content-type'] ?? '')?.[1];
    if (charset && !/^utf-?8$/i.test(charset)) return refuse(response, 415, 'Send the body in UTF-8');
    const announced = Number(request.headers['content-length'] ?? 0);
    if (announced > maxLongBodyBytes) return refuse(response, 413, bodyTooLarge(maxLongBodyBytes));
    const client = clientOf(request);
    let budget = announced > shortBodyBytes ? long : short;
    if (refuseOverBudget(budget, client, announced, response)) return;

    // Counts the bytes that have arrived, not the announced length, so that many slow senders together cannot exceed the budget.
    let taken = 0;
    const charge = (to: ByteBudget, bytes: number) => {
      budget.add(client, -taken);
      budget = to;
      taken = bytes;
      budget.add(client, taken);
    };
    const count = (chunk: Buffer) => {
      const bytes = taken + chunk.length + chunkOverheadBytes;
      charge(bytes > shortBodyBytes ? long : budget, bytes);
      if (!response.headersSent) refuseOverBudget(budget, client, 0, response);
    };
    request.on('data', count);
    response.once('close', () => {
      request.off('data', count); // later chunks are discarded
      charge(budget, 0);
    });
    next();
  };

  const collect = express.raw({ type: () => true, limit: maxLongBodyBytes, inflate: false });

  const parse: RequestHandler = (request, _response, next) => {
    const { body }: { body?: unknown } = request;
    if (!Buffer.isBuffer(body)) return next();
    sizes.set(request, body.length);
    if (body.length > maxBodyBytes && !longOperations.some((name) => body.includes(name)))
      return next(new BodyTooLong(maxBodyBytes));
    // Decoding would replace invalid bytes with U+FFFD and so change what the client sent.
    if (!isUtf8(body)) return next(new InvalidJson());
    if (body.length > uncheckedBytes && holdsMoreValues(body, maxValues)) return next(new TooManyValues(maxValues));
    try {
      request.body = body.length === 0 ? {} : JSON.parse(decoder.decode(body));
    } catch {
      return next(new InvalidJson());
    }
    next();
  };

  return { receive: [admit, collect], parse, bytesOf: (request) => sizes.get(request) ?? 0 };
}

/** Uses the properties of body-parser's own errors. */
class BodyTooLong extends Error {
  readonly status = 413;
  readonly type = 'entity.too.large';
  readonly limit: number;

  constructor(limit: number) {
    super();
    this.limit = limit;
  }
}

class TooManyValues extends Error {
  readonly status = 400;
  readonly type = 'entity.too.many.values';
  readonly limit: number;

  constructor(limit: number) {
    super();
    this.limit = limit;
  }
}

class InvalidJson extends Error {
  readonly status = 400;
  readonly type = 'entity.parse.failed';
}

import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import express, { type RequestHandler, type Response } from 'express';
import { type ByteBudget, byteBudget } from '../limits/byte-budget.ts';
import { holdsMoreValues } from '../limits/json-values.ts';
import { refuse } from './http-rules.ts';

/** Values that one body holds at most, as many as 64 KB of metadata can, and the length from which on they are counted. */
const maxValues = 45_000;
const uncheckedBytes = 20_000;

export interface BodyLimits {
  /** Bytes of a body; and of those of the few operations that carry long content. */
  maxBodyBytes: number;
  maxLongBodyBytes: number;
  /** Bytes of all long bodies together that are being received or worked on; a quarter of it is for one client. */
  maxBodiesBytes: number;
}

/** A body up to this length is short: most are, and they have budget of their own, so that no flood of long ones keeps them out. */
const shortBodyBytes = 65_536;

/** The budget of short bodies, as a part of that of long ones. */
const shortBodiesShare = 1 / 2;

/** About what a piece of a body takes in memory beside its bytes: who sends them one by one fills it with little. */
const chunkOverheadBytes = 128;

const decoder = new TextDecoder(); // leaves out a byte order mark

export interface Bodies {
  /** Receives a request's body, or refuses it. */
  receive: RequestHandler[];
  /** Parses what was received into `request.body`, or refuses it. */
  parse: RequestHandler;
  /** Bytes of a body that was read. */
  bytesOf(request: IncomingMessage): number;
}

/**
 * How request bodies get in: as plain JSON in UTF-8, each of bounded size and all of them together. One over `maxBodyBytes`
 * must at least hold the name of a long operation; whether it asks for one is known once its document is read.
 */
export function requestBodies(
  { maxBodyBytes, maxLongBodyBytes, maxBodiesBytes }: BodyLimits,
  longOperations: readonly string[],
  clientOf: (request: IncomingMessage) => string,
): Bodies {
  const sizes = new WeakMap<IncomingMessage, number>();
  const long = byteBudget(maxBodiesBytes);
  const short = byteBudget(maxBodiesBytes * shortBodiesShare);

  /** Whether so much more of one client finds no room; answered if so. */
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
    // A compressed body says nothing of its size; what we take compresses to little anyway.
    if (encoding.toLowerCase() !== 'identity') return refuse(response, 415, 'Send the body uncompressed');
    const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(request.headers['content-type'] ?? '')?.[1];
    if (charset && !/^utf-?8$/i.test(charset)) return refuse(response, 415, 'Send the body in UTF-8');
    const announced = Number(request.headers['content-length'] ?? 0);
    if (announced > maxLongBodyBytes) return refuse(response, 413, 'The body is too large');
    const client = clientOf(request);
    let budget = announced > shortBodyBytes ? long : short;
    if (refuseOverBudget(budget, client, announced, response)) return;

    // Counted as they arrive, so that many slow senders together hold no more than many quick ones.
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
      request.off('data', count); // what still comes is thrown away
      charge(budget, 0);
    });
    next();
  };

  const collect = express.raw({ type: () => true, limit: maxLongBodyBytes, inflate: false });

  const parse: RequestHandler = (request, _response, next) => {
    const { body }: { body?: unknown } = request;
    if (!Buffer.isBuffer(body)) return next(); // there is none
    sizes.set(request, body.length);
    if (body.length > maxBodyBytes && !longOperations.some((name) => body.includes(name)))
      return next(new BodyTooLong());
    // Decoding would put U+FFFD for what is no UTF-8, and something else would be stored than was sent.
    if (!isUtf8(body)) return next(new InvalidJson());
    if (body.length > uncheckedBytes && holdsMoreValues(body, maxValues)) return next(new InvalidJson());
    try {
      request.body = body.length === 0 ? {} : JSON.parse(decoder.decode(body));
    } catch {
      return next(new InvalidJson());
    }
    next();
  };

  return { receive: [admit, collect], parse, bytesOf: (request) => sizes.get(request) ?? 0 };
}

/** The status and type that body-parser gives its own errors. */
class BodyTooLong extends Error {
  readonly status = 413;
  readonly type = 'entity.too.large';
}

class InvalidJson extends Error {
  readonly status = 400;
  readonly type = 'entity.parse.failed';
}

import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import express, { type RequestHandler, type Response } from 'express';
import { clientCounts } from '../limits/client-counts.ts';
import { holdsMoreValues } from '../limits/json-values.ts';
import { refuse } from './http-rules.ts';

/** The operations that carry long texts, audio or images, and so may have a longer body. */
const longOperations = [
  'ingestDocument',
  'updateKnowledgeDocumentText',
  'transcribeSpeech',
  'generateText',
  'startTextGeneration',
];

/** Whether an operation may come in a long body. */
export function mayBeLong(operation: string): boolean {
  return longOperations.includes(operation);
}

/** Values that one body holds at most, and the length from which on they are counted: none of ours holds thousands. */
const maxValues = 10_000;
const unlookedAtBytes = 20_000;

export interface BodyLimits {
  /** Bytes of a body; and of those of the few operations that carry long content. */
  maxBodyBytes: number;
  maxLongBodyBytes: number;
  /** Bytes of all bodies together that are being received or worked on; a quarter of it is for one client. */
  maxBodiesBytes: number;
}

/** A body up to this length takes nothing of what all may take together: most are, and no flood of long ones keeps them out. */
const freeBytes = 65_536;

export interface Bodies {
  /** Reads a request's body as JSON into `request.body`, or refuses it. */
  read: RequestHandler[];
  /** Bytes of a body that was read. */
  bytesOf(request: IncomingMessage): number;
}

/** How request bodies get in: as plain JSON in UTF-8, each of bounded size and all of them together. */
export function requestBodies(
  { maxBodyBytes, maxLongBodyBytes, maxBodiesBytes }: BodyLimits,
  clientOf: (request: IncomingMessage) => string,
): Bodies {
  const sizes = new WeakMap<IncomingMessage, number>();
  const clients = clientCounts();
  let held = 0;

  /** Whether so much more of one client finds no room; answered if so. */
  function isTooMuch(client: string, more: number, response: Response): boolean {
    const share = clients.of(client) + more > maxBodiesBytes / 4;
    if (!share && held + more <= maxBodiesBytes) return false;
    response.setHeader('connection', 'close'); // the rest of the body is not wanted
    if (share) refuse(response, 429, 'This address is sending too much at once', 'TOO_MANY_REQUESTS');
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
    if (announced > freeBytes && isTooMuch(client, announced, response)) return;

    // Counted as they arrive, so that many slow senders together hold no more than many quick ones.
    let arrived = 0;
    let own = 0;
    const hold = (more: number) => {
      own += more;
      held += more;
      clients.add(client, more);
    };
    const count = (chunk: Buffer) => {
      arrived += chunk.length;
      if (arrived <= freeBytes) return;
      hold(arrived - own);
      if (!response.headersSent) isTooMuch(client, 0, response);
    };
    request.on('data', count);
    response.once('close', () => {
      request.off('data', count); // what still comes is thrown away
      hold(-own);
    });
    next();
  };

  const json = express.json({
    limit: maxLongBodyBytes,
    strict: false,
    inflate: false,
    verify(request, _response, body) {
      sizes.set(request, body.length);
      if (body.length > maxBodyBytes && !longOperations.some((name) => body.includes(name))) throw new BodyTooLong();
      // Decoding would put U+FFFD for what is no UTF-8, and something else would be stored than was sent.
      if (!isUtf8(body)) throw new NoJson();
      if (body.length > unlookedAtBytes && holdsMoreValues(body, maxValues)) throw new NoJson();
    },
  });

  return { read: [admit, json], bytesOf: (request) => sizes.get(request) ?? 0 };
}

/** What body-parser hands on of an error thrown while it looks at a body: status and type. */
class BodyTooLong extends Error {
  readonly status = 413;
  readonly type = 'entity.too.large';
}

class NoJson extends Error {
  readonly status = 400;
  readonly type = 'entity.parse.failed';
}

import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import express, { type RequestHandler, type Response } from 'express';
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
  /** Bytes of all bodies together that are being received or worked on. */
  maxBodiesBytes: number;
}

export interface Bodies {
  /** Reads a request's body as JSON into `request.body`, or refuses it. */
  read: RequestHandler[];
  /** Bytes of a body that was read. */
  bytesOf(request: IncomingMessage): number;
}

/** How request bodies get in: as plain JSON in UTF-8, each of bounded size and all of them together. */
export function requestBodies({ maxBodyBytes, maxLongBodyBytes, maxBodiesBytes }: BodyLimits): Bodies {
  const sizes = new WeakMap<IncomingMessage, number>();
  let held = 0;

  const admit: RequestHandler = (request, response, next) => {
    const encoding = request.headers['content-encoding'] ?? 'identity';
    // A compressed body says nothing of its size; what we take compresses to little anyway.
    if (encoding.toLowerCase() !== 'identity') return refuse(response, 415, 'Send the body uncompressed');
    const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(request.headers['content-type'] ?? '')?.[1];
    if (charset && !/^utf-?8$/i.test(charset)) return refuse(response, 415, 'Send the body in UTF-8');
    const announced = Number(request.headers['content-length'] ?? 0);
    if (announced > maxLongBodyBytes) return refuse(response, 413, 'The body is too large');
    if (held + announced > maxBodiesBytes) return tooMuch(response);

    // Counted as they arrive, so that many slow senders together hold no more than many quick ones.
    let own = 0;
    const count = (chunk: Buffer) => {
      own += chunk.length;
      held += chunk.length;
      if (held > maxBodiesBytes && !response.headersSent) tooMuch(response);
    };
    request.on('data', count);
    response.once('close', () => {
      request.off('data', count); // what still comes is thrown away
      held -= own;
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

/** Closes the connection too: the rest of the body is not wanted. */
function tooMuch(response: Response): void {
  response.setHeader('connection', 'close');
  refuse(response, 503, 'Too much is being sent at the moment; try again in a while', 'UNAVAILABLE');
}

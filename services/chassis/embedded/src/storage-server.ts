import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { isDomainError } from '@parley/kernel/errors';
import { type HttpDrain, httpDrain } from '@parley/kernel/http/http-drain';
import { listen } from '@parley/kernel/http/listen';
import type { Part } from '@parley/kernel/processes/unit';
import type { Logger } from '@parley/kernel/telemetry/log';
import { attachment } from '@parley/objects/object-keys';
import cors from 'cors';
import type { FileObjectStore } from './file-object-store.ts';
import type { Permit, UrlSigner } from './signed-urls.ts';

export interface StorageServerOptions {
  store: Pick<FileObjectStore, 'get' | 'receive'>;
  signer: UrlSigner;
  /** The port to listen on; 0: any free port. */
  port: number;
  host?: string;
  /** Origins whose pages may request the signed URLs; `*` allows any origin. */
  corsOrigins: string[];
  /** The maximum size of an upload, in bytes. Default: 20 MB. */
  maxBytes?: number;
  /** Time in ms after which a connection without traffic is closed. Default 30,000. */
  idleTimeoutMs?: number;
  onListening: (url: string) => void;
  log: Logger;
}

const defaultMaxBytes = 20 * 1024 * 1024;
/** Maximum time in ms for receiving a request. */
const requestTimeoutMs = 300_000;
const headersTimeoutMs = 10_000;
const stopTimeoutMs = 2_000;
const readThroughBytes = 2 * defaultMaxBytes;
/** The same response for every invalid link, because only attackers would learn from the reason. */
const refusal = 'This link has expired or is not for this request.';

/** Serves the signed URLs of a file object store: PUT and GET of the one object that a URL names, and nothing else. */
export function storageServer(options: StorageServerOptions): Part {
  const { store, signer, port, host = '127.0.0.1', corsOrigins, idleTimeoutMs = 30_000, onListening, log } = options;
  const maxBytes = options.maxBytes ?? defaultMaxBytes;
  let draining: HttpDrain | undefined;
  const withCors = cors({
    origin: corsOrigins.includes('*') ? '*' : corsOrigins,
    methods: ['GET', 'HEAD', 'PUT'],
    exposedHeaders: ['etag', 'content-disposition'],
    maxAge: 86_400,
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader('x-content-type-options', 'nosniff');
    const { method = '', url = '' } = request;
    const isPut = method === 'PUT';
    // A permit for GET allows HEAD.
    const permit = signer.verify(method === 'HEAD' ? 'GET' : method, url);
    if (!permit || (isPut && request.headers['content-type'] !== permit.contentType)) {
      return end(request, response, 403, refusal);
    }
    if (isPut) await receive(request, response, permit);
    else await send(request, response, permit);
  }

  async function receive(request: IncomingMessage, response: ServerResponse, permit: Permit): Promise<void> {
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) return tooLarge(request, response);
    const { key, contentType = '' } = permit;
    try {
      const { etag } = await store.receive(key, request.iterator({ destroyOnReturn: false }), {
        contentType,
        maxBytes,
      });
      response.setHeader('etag', `"${etag}"`);
      end(request, response, 200);
    } catch (error) {
      if (isDomainError(error, 'invalid') && error.reason === 'OBJECT_TOO_LARGE') return tooLarge(request, response);
      if (isDomainError(error, 'conflict'))
        return end(request, response, 409, 'This file cannot be replaced any more.');
      throw error;
    }
  }

  function tooLarge(request: IncomingMessage, response: ServerResponse): void {
    end(request, response, 413, `A file may have at most ${maxBytes} bytes.`);
  }

  async function send(request: IncomingMessage, response: ServerResponse, permit: Permit): Promise<void> {
    const { body, etag, contentType, sizeBytes, lastModified } = await store.get(permit.key);
    response.writeHead(200, {
      'content-type': permit.contentType ?? contentType,
      'content-length': sizeBytes,
      etag: `"${etag}"`,
      'last-modified': lastModified.toUTCString(),
      'cache-control': 'private, no-cache',
      // Users upload these files, so no script in them may run under this origin.
      'content-security-policy': "default-src 'none'; sandbox",
      'cross-origin-resource-policy': 'cross-origin',
      ...(permit.fileName !== undefined && { 'content-disposition': attachment(permit.fileName) }),
    });
    if (request.method === 'HEAD') {
      body.destroy();
      response.end();
      return;
    }
    await pipeline(body, response);
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await serve(request, response);
    } catch (error) {
      // No error is logged when the client has disconnected.
      if (request.errored || response.destroyed || response.headersSent) response.destroy();
      else if (isDomainError(error, 'notFound')) end(request, response, 404, 'There is no such file.');
      else {
        log.error({ err: error }, 'storage request failed');
        const isUnavailable = isDomainError(error, 'unavailable');
        end(request, response, isUnavailable ? 503 : 500, 'The file cannot be reached now.');
      }
    }
  }

  return {
    name: 'storage server',
    async start() {
      const server = createServer(
        { requestTimeout: requestTimeoutMs, headersTimeout: headersTimeoutMs },
        (request, response) => withCors(request, response, () => void answer(request, response)),
      );
      server.setTimeout(idleTimeoutMs);
      draining = httpDrain(server);
      onListening(`http://${await listen(server, port, host)}`);
    },
    async stop() {
      await draining?.drain(stopTimeoutMs);
    },
  };
}

/**
 * Sends a response. A short request body is read to its end first: a client that is still sending when the connection closes may not get
 * the response.
 */
function end(request: IncomingMessage, response: ServerResponse, status: number, text?: string): void {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  if (!request.complete && (encoding !== undefined || Number(length ?? 0) > readThroughBytes)) {
    response.setHeader('connection', 'close');
  }
  request.resume();
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' });
  response.end(text === undefined ? '' : `${text}\n`);
}

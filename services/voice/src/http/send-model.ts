import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { ModelFile } from '../avatar-models.ts';
import { HttpRefusal } from './read-body.ts';

/**
 * Sends the file of a model, or the one range of it that was requested. Clients may cache it for a day.
 * @param stallMs maximum time in ms during which the client reads nothing
 * @throws HttpRefusal 416 if the range is not in the file
 */
export async function sendModel(
  request: IncomingMessage,
  response: ServerResponse,
  { size, etag, read }: ModelFile,
  stallMs: number,
): Promise<void> {
  response.setHeader('content-type', 'model/gltf-binary');
  response.setHeader('cache-control', 'public, max-age=86400');
  response.setHeader('cross-origin-resource-policy', 'cross-origin');
  response.setHeader('accept-ranges', 'bytes');
  response.setHeader('etag', etag);
  const known = (request.headers['if-none-match'] ?? '').split(',').map((each) => each.trim().replace(/^W\//u, ''));
  if (known.includes(etag) || known.includes('*')) return void response.writeHead(304).end();
  const { range, 'if-range': ifRange = etag } = request.headers;
  const part = range !== undefined && ifRange === etag ? rangeOf(range, size) : undefined;
  if (part === 'unsatisfiable') {
    response.setHeader('content-range', `bytes */${size}`);
    throw new HttpRefusal(416, 'The file has no such range');
  }
  const { from, to } = part ?? { from: 0, to: size - 1 };
  if (part) response.setHeader('content-range', `bytes ${from}-${to}/${size}`);
  response.setHeader('content-length', to - from + 1);
  response.writeHead(part ? 206 : 200);
  if (request.method === 'HEAD') return void response.end();
  response.setTimeout(stallMs, () => response.destroy());
  await pipeline(read(from, to), response);
}

/** Returns the single range of the header. Returns undefined for several ranges or another format; the client then gets the whole file. */
function rangeOf(header: string, size: number): { from: number; to: number } | 'unsatisfiable' | undefined {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/u.exec(header.trim()) ?? [];
  if (first === '' && last === '') return undefined;
  const from = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const to = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (first !== '' && last !== '' && Number(last) < from) return undefined;
  return from >= size ? 'unsatisfiable' : { from, to };
}

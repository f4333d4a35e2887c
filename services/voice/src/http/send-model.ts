import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ModelFile } from '../avatar-models.ts';
import { HttpRefusal } from './read-body.ts';

/** Sends the file of a model: for a day from caches, and in part where one range is asked for. @throws HttpRefusal 416 */
export function sendModel(request: IncomingMessage, response: ServerResponse, { content, etag }: ModelFile): void {
  response.setHeader('content-type', 'model/gltf-binary');
  response.setHeader('cache-control', 'public, max-age=86400');
  response.setHeader('cross-origin-resource-policy', 'cross-origin');
  response.setHeader('accept-ranges', 'bytes');
  response.setHeader('etag', etag);
  const known = (request.headers['if-none-match'] ?? '').split(',').map((each) => each.trim().replace(/^W\//u, ''));
  if (known.includes(etag) || known.includes('*')) return void response.writeHead(304).end();
  const { range, 'if-range': ifRange = etag } = request.headers;
  const part = range !== undefined && ifRange === etag ? rangeOf(range, content.length) : undefined;
  if (part === 'unsatisfiable') {
    response.setHeader('content-range', `bytes */${content.length}`);
    throw new HttpRefusal(416, 'The file has no such range');
  }
  const sent = part ? content.subarray(part.from, part.to + 1) : content;
  if (part) response.setHeader('content-range', `bytes ${part.from}-${part.to}/${content.length}`);
  response.setHeader('content-length', sent.length);
  response.writeHead(part ? 206 : 200).end(request.method === 'HEAD' ? undefined : sent);
}

/** The one range of a header; undefined where it has another form or several, which are answered by the whole file. */
function rangeOf(header: string, size: number): { from: number; to: number } | 'unsatisfiable' | undefined {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/u.exec(header.trim()) ?? [];
  if (first === '' && last === '') return undefined;
  const from = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const to = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (first !== '' && last !== '' && Number(last) < from) return undefined;
  return from >= size ? 'unsatisfiable' : { from, to };
}

import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import type { Part } from '@parley/kernel/processes/unit';

const files: Record<string, { name: string; type: string }> = {
  '/': { name: 'index.html', type: 'text/html; charset=utf-8' },
  '/try.js': { name: 'try.js', type: 'text/javascript; charset=utf-8' },
  '/try.css': { name: 'try.css', type: 'text/css; charset=utf-8' },
};

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'media-src blob:',
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export const tryPaths = Object.keys(files);

export interface TryPage extends Part {
  /** Sends a file of the page. @param path one of `tryPaths` */
  send(path: string, request: IncomingMessage, response: ServerResponse): void;
}

/** Returns the page for trying out the service. The page is self-contained and read at start. */
export function tryPage(): TryPage {
  const contents = new Map<string, Buffer>();
  return {
    name: 'try page',
    async start() {
      for (const [path, { name }] of Object.entries(files))
        contents.set(path, await readFile(fileURLToPath(new URL(`../../page/${name}`, import.meta.url))));
    },
    stop: () => Promise.resolve(),
    send(path, request, response) {
      const content = contents.get(path) ?? Buffer.alloc(0);
      response.setHeader('content-type', files[path]?.type ?? '');
      response.setHeader('content-length', content.length);
      response.setHeader('content-security-policy', policy);
      response.setHeader('referrer-policy', 'no-referrer');
      response.setHeader('cache-control', 'no-cache');
      response.writeHead(200).end(request.method === 'HEAD' ? undefined : content);
    },
  };
}

import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { listen } from '@parley/kernel/http/listen';
import type { Logger } from '@parley/kernel/telemetry/log';
import { type BundleName, bundles } from './bundle-names.ts';
import { type DemoSession, demoSessions } from './demo-tenant.ts';

export interface DemoServerOptions {
  /** The port to listen on. If it is 0 or already taken, a free port is used. */
  port: number;
  /** The gateway's GraphQL URL, for this process and for browsers on this machine. */
  endpoint: string;
  /** The voice service's URL, for this process and for browsers on this machine. Default: none. */
  voiceUrl?: string;
  /** The file that stores the API key of the demo's tenant. */
  file: string;
  log: Pick<Logger, 'error'>;
}

export type DemoServer = Awaited<ReturnType<typeof startDemoServer>>;

const page = join(import.meta.dirname, 'page');
const files: Record<string, [file: string, type: string]> = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/demo.css': ['demo.css', 'text/css; charset=utf-8'],
  '/demo.js': ['demo.js', 'text/javascript; charset=utf-8'],
};

/**
 * Serves the demo page on loopback, for development: the page, the built widget, and `POST /session`, which starts a session with the API
 * key of a tenant that was created for the demo.
 */
export async function startDemoServer({ port, endpoint, voiceUrl, file, log }: DemoServerOptions) {
  const start = demoSessions(endpoint, file);
  const built = new Map<string, Promise<string>>();
  const { host } = new URL(endpoint);
  const policy = [
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src http: https: data:; media-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    `connect-src 'self' http://${host} ws://${host} ${voiceUrl ? new URL(voiceUrl).origin : ''}`.trimEnd(),
  ].join('; ');

  const server = createServer((request, response) => {
    response.setHeader('content-security-policy', policy);
    response.setHeader('x-content-type-options', 'nosniff');
    response.setHeader('cache-control', 'no-store');
    serve(request, response).catch((error: unknown) => {
      log.error({ err: error }, 'demo page failed');
      end(response, 500, 'text/plain', error instanceof Error ? error.message : 'failed');
    });
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    const name = pathname.slice(1);
    if (request.method === 'POST' && pathname === '/session') {
      // Pages of other sites, opened on this machine, must not start sessions.
      const site = request.headers['sec-fetch-site'] ?? 'same-origin';
      if (site !== 'same-origin' || !isLocal(request.headers.host))
        return end(response, 403, 'text/plain', 'Forbidden');
      const session: DemoSession & { endpoint: string; voiceUrl?: string } = {
        ...(await start()),
        endpoint,
        ...(voiceUrl !== undefined && { voiceUrl }),
      };
      return end(response, 200, 'application/json', JSON.stringify(session));
    }
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return end(response, 405, 'text/plain', 'Method not allowed');
    if (Object.hasOwn(bundles, name))
      return end(response, 200, 'text/javascript; charset=utf-8', await builtFile(name as BundleName));
    const known = Object.hasOwn(files, pathname) ? files[pathname] : undefined;
    if (!known) return end(response, 404, 'text/plain', 'There is nothing here');
    end(response, 200, known[1], await readFile(join(page, known[0])));
  }

  /** Builds a file at its first request, so that the bundler is loaded only when needed. */
  function builtFile(name: BundleName): Promise<string> {
    const building = built.get(name) ?? import('./bundle.ts').then(({ bundle }) => bundle(name));
    built.set(name, building);
    return building;
  }

  const address = await listen(server, port).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return listen(server);
    throw error;
  });
  return {
    url: `http://${address.replace('127.0.0.1', 'localhost')}/`,
    async stop(): Promise<void> {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/**
 * Reports whether a request's host name is a name of this machine. Prevents DNS rebinding, in which the name of another site resolves to
 * this machine.
 */
function isLocal(host = ''): boolean {
  return /^(?:localhost|127\.0\.0\.1)(?::\d+)?$/u.test(host);
}

function end(response: ServerResponse, status: number, type: string, body: string | Buffer): void {
  response.writeHead(status, { 'content-type': type }).end(body);
}

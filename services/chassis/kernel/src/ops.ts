import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { listen, type ServerOptions } from './listen.ts';
import type { Part } from './unit.ts';

export interface OpsServerOptions extends ServerOptions {
  ready: () => Promise<void>;
}

/** The operators' HTTP server: `/healthz` (the process is alive), `/readyz` (all parts are ready), `/metrics` (Prometheus). */
export function opsServer({ unit, host = '127.0.0.1', port, metrics, ready, onListening }: OpsServerOptions): Part {
  let server: Server | undefined;
  return {
    name: `${unit} ops`,
    async start() {
      server = createServer(async (request, response) => {
        if (request.url === '/healthz') {
          response.end('ok\n');
        } else if (request.url === '/readyz') {
          const reason = await ready().then(
            () => undefined,
            (error: unknown) => (error instanceof Error ? error.message : 'not ready'),
          );
          response.writeHead(reason === undefined ? 200 : 503).end(`${reason ?? 'ready'}\n`);
        } else if (request.url === '/metrics') {
          response.setHeader('content-type', metrics.registry.contentType);
          response.end(await metrics.registry.metrics());
        } else {
          response.writeHead(404).end();
        }
      });
      await listen(server, port, host);
      onListening?.(`http://${host}:${(server.address() as AddressInfo).port}`);
    },
    async stop() {
      const closing = server;
      if (!closing) return;
      closing.closeAllConnections();
      await new Promise((resolve) => closing.close(resolve));
    },
  };
}

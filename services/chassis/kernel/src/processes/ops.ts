import { createServer, type Server, type ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { listen, type ServerOptions } from '../http/listen.ts';
import { within } from '../timing/timers.ts';
import type { Part } from './unit.ts';

export interface OpsServerOptions extends ServerOptions {
  ready: () => Promise<void>;
}

/** The minimum time in ms between the starts of two readiness checks, or of two collections of metrics. */
const spacingMs = 100;
/** Time in ms after which a check that hangs counts as failed. */
const timeoutMs = 5_000;

/**
 * The operators' HTTP server: `/healthz` (the process is alive), `/readyz` (all parts are ready), `/metrics` (Prometheus). Only one
 * readiness check and one collection of metrics run at a time, however many requests arrive.
 */
export function opsServer({ unit, host = '127.0.0.1', port, metrics, ready, onListening }: OpsServerOptions): Part {
  let server: Server | undefined;
  const check = shared('the check', ready);
  const collect = shared('the collection', () => metrics.registry.metrics());
  let isReady = false;

  /** @returns why the process is not ready; undefined if it is ready. */
  async function observe(): Promise<string | undefined> {
    const reason = await check().then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error.message : 'not ready'),
    );
    isReady = reason === undefined;
    return reason;
  }

  // A collection of metrics does not wait for the readiness check, because a dependency that hangs may block the check. The next collection
  // reports the outcome of the check.
  metrics.gauge('parley_ready', 'Whether `/readyz` answered 200 when it was last checked', () => {
    void observe();
    return isReady ? 1 : 0;
  });

  async function answer(path: string | undefined, response: ServerResponse): Promise<void> {
    if (path === '/healthz') {
      response.end('ok\n');
    } else if (path === '/readyz') {
      const reason = await observe();
      response.writeHead(reason === undefined ? 200 : 503).end(`${reason ?? 'ready'}\n`);
    } else if (path === '/metrics') {
      const text = await collect();
      response.setHeader('content-type', metrics.registry.contentType).end(text);
    } else {
      response.writeHead(404).end();
    }
  }

  return {
    name: `${unit} ops`,
    async start() {
      server = createServer((request, response) => {
        answer(request.url, response).catch(() => response.writeHead(500).end());
      });
      const address = await listen(server, port, host);
      onListening?.(`http://${address}`);
    },
    async stop() {
      const closing = server;
      if (!closing) return;
      closing.closeAllConnections();
      await new Promise((resolve) => closing.close(resolve));
    },
  };
}

/** A call that arrives while `load` runs gets the outcome of the next `load`, so no outcome is older than its request. */
function shared<T>(what: string, load: () => Promise<T>): () => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | undefined;
  async function loadNext(): Promise<T> {
    await last;
    next = undefined;
    const loading = within(timeoutMs, what, load());
    last = Promise.allSettled([loading, delay(spacingMs, undefined, { ref: false })]);
    return loading;
  }
  return () => {
    next ??= loadNext();
    return next;
  };
}

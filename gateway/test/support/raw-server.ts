import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';

/** Starts a bare HTTP server for misbehaving services and returns its URL. */
export async function rawServer(t: ExecutionContext, listener: RequestListener): Promise<string> {
  // The timeout is longer than a test takes on a busy machine. Node's default of 5 s would close connections that a test still needs.
  const server = createServer({ keepAliveTimeout: 120_000 }, listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

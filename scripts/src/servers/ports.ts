import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

const host = '127.0.0.1';

// Below the ports that Linux, macOS and Windows give to outgoing connections: a server that is down for a moment would lose
// its port to one of them.
const lowest = 15_000;
const highest = 32_000;
const attempts = 500;

/** So many free ports of this machine's loopback address, all different. */
export async function freePorts(count: number): Promise<number[]> {
  await using held = new AsyncDisposableStack();
  const ports: number[] = [];
  for (let attempt = 0; ports.length < count; attempt += 1) {
    if (attempt === attempts + count) throw new Error('This machine has no free port');
    const port = randomInt(lowest, highest);
    const server = await listen(port);
    if (server === undefined) continue;
    held.use(server);
    ports.push(port);
  }
  return ports;
}

/** Whether nobody listens there. */
export async function isFree(port: number): Promise<boolean> {
  const server = await listen(port);
  await server?.[Symbol.asyncDispose]();
  return server !== undefined;
}

async function listen(port: number) {
  const server = createServer().listen(port, host);
  try {
    await once(server, 'listening');
    return server;
  } catch {
    return undefined;
  }
}

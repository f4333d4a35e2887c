import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

const host = '127.0.0.1';

// Below the ports that Linux, macOS and Windows give to outgoing connections: a server that is down for a moment would lose
// its port to one of them.
const lowest = 15_000;
const highest = 32_000;
const attempts = 500;

/** So many free ports of this machine's loopback address, all different. */
export async function freePorts(count: number): Promise<number[]> {
  const held = new Map<number, Server>();
  try {
    for (let attempt = 0; held.size < count; attempt += 1) {
      if (attempt === attempts + count) throw new Error('This machine has no free port');
      const port = randomInt(lowest, highest);
      const server = await listen(port); // a port that is held already is not free either
      if (server) held.set(port, server);
    }
    return [...held.keys()];
  } finally {
    for (const server of held.values()) await server[Symbol.asyncDispose]();
  }
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

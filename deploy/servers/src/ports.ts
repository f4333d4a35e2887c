import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';

const host = '127.0.0.1';

// Below the ports that Linux, macOS and Windows give to outgoing connections: a server that is down for a moment would lose
// its port to one of them.
const lowest = 15_000;
const highest = 32_000;

/** So many free ports of this machine's loopback address, all different. */
export async function freePorts(count: number): Promise<number[]> {
  const held = new Map<number, Server>();
  try {
    while (held.size < count) {
      const port = randomInt(lowest, highest);
      const server = await listen(port); // a port that is held already is not free either
      if (server) held.set(port, server);
    }
    return [...held.keys()];
  } finally {
    for (const server of held.values()) await server[Symbol.asyncDispose]();
  }
}

/** Whether nobody listens there. Others may ask at the same time. */
export async function isFree(port: number): Promise<boolean> {
  const socket = connect({ port, host });
  const isTaken = once(socket, 'connect').then(
    () => true,
    () => false,
  );
  return !(await isTaken.finally(() => socket.destroy()));
}

async function listen(port: number): Promise<Server | undefined> {
  const server = createServer().listen(port, host);
  return once(server, 'listening').then(
    () => server,
    () => undefined,
  );
}

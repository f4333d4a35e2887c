import { once } from 'node:events';
import { createServer } from 'node:net';

const host = '127.0.0.1';

/** So many free ports of this machine's loopback address, all different. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => listen(0)));
  const ports = servers.map((server) => {
    const address = server?.address();
    if (address === null || typeof address !== 'object') throw new Error('This machine has no free port');
    return address.port;
  });
  for (const server of servers) await server?.[Symbol.asyncDispose]();
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

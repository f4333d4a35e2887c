import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';

// Below the ports that Linux, macOS and Windows use for outgoing connections, because one of those could take the port of a
// server that restarts.
const lowest = 15_000;
const highest = 32_000;

/** Returns `count` distinct free ports of the loopback address. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = randomInt(lowest, highest);
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

/** Whether no program listens on the port. Safe to call concurrently. */
export async function isFree(port: number): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1' });
  const isTaken = once(socket, 'connect').then(
    () => true,
    () => false,
  );
  return !(await isTaken.finally(() => socket.destroy()));
}

import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';

// Below the ports that Linux, macOS and Windows give to outgoing connections: a server that is down for a moment would lose
// its port to one of them.
const lowest = 15_000;
const highest = 32_000;

/** So many free ports of this machine's loopback address, all different. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = randomInt(lowest, highest);
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

/** Whether nobody listens there. Others may ask at the same time. */
export async function isFree(port: number): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1' });
  const isTaken = once(socket, 'connect').then(
    () => true,
    () => false,
  );
  return !(await isTaken.finally(() => socket.destroy()));
}

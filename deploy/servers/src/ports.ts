import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';

// Below the range from which Linux, macOS and Windows choose ports of outgoing connections. Otherwise, such a connection could take the
// port of a server while it restarts.
export const loopback = '127.0.0.1';

const lowest = 15_000;
const highest = 32_000;

/** Returns `count` distinct free ports on an address of this machine. */
export async function freePorts(count: number, host = loopback): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = randomInt(lowest, highest);
    if (await isFree(port, host)) ports.add(port);
  }
  return [...ports];
}

/** Reports whether no program listens on the port. Concurrent calls are safe. */
export async function isFree(port: number, host = loopback): Promise<boolean> {
  const socket = connect({ port, host });
  const isTaken = once(socket, 'connect').then(
    () => true,
    () => false,
  );
  return !(await isTaken.finally(() => socket.destroy()));
}

import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { BlockList, connect } from 'node:net';
import { networkInterfaces } from 'node:os';

export const loopback = '127.0.0.1';

/** Programs can listen on each address of this range, though the loopback interface has only one of them. */
const loopbackRange = new BlockList();
loopbackRange.addSubnet('127.0.0.0', 8);

// The range from which ports are chosen. It is below the range from which Linux, macOS and Windows choose ports of outgoing connections,
// because such a connection could take the port of a server that is restarting.
const lowest = 15_000;
const highest = 32_000;

/**
 * Returns `count` distinct free ports on an address of this machine.
 * @throws Error for an address of another machine, on which no port would ever be free
 */
export async function freePorts(count: number, host = loopback): Promise<number[]> {
  requireOwnAddress(host);
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = randomInt(lowest, highest);
    if (await isFree(port, host)) ports.add(port);
  }
  return [...ports];
}

/** @throws Error if no network interface of this machine has the address. 0.0.0.0 (all interfaces) is refused too. */
export function requireOwnAddress(host: string): void {
  const addresses = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));
  if (!addresses.includes(host) && !loopbackRange.check(host))
    throw new Error(`${host} is no IPv4 address of this machine`);
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

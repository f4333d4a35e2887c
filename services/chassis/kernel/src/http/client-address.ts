import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { type Address, isWithin, type Network, readAddress, readNetwork } from './client-network.ts';

export interface RequestSource {
  headers: IncomingHttpHeaders;
  socket: { remoteAddress?: string | undefined };
}

/**
 * Returns the client's address: the peer's address or, behind trusted proxies, the right-most untrusted address in `x-forwarded-for`. An
 * invalid entry counts as the address of its proxy. The address of each request is read once.
 */
export function clientAddress(trustedProxies: string[]): (request: RequestSource) => string {
  const read = addressReader(trustedProxies);
  const known = new WeakMap<RequestSource, string>();
  return (request) => {
    const address = known.get(request) ?? read(request);
    known.set(request, address);
    return address;
  };
}

function addressReader(trustedProxies: string[]): (request: RequestSource) => string {
  const networks = trustedProxies.map(readNetwork);
  const trusted = trustedIn(networks);
  return (request) => {
    const peer = request.socket.remoteAddress ?? '';
    if (networks.length === 0 && isIP(peer) === 4) return peer; // this form is already canonical
    let client = readAddress(peer);
    if (!client) return '';
    if (!trusted(client)) return client.toString();
    const hops = [request.headers['x-forwarded-for'] ?? []].flat().join(',').split(',');
    for (const hop of hops.toReversed()) {
      const next = readAddress(withoutPort(hop.trim()));
      if (!next) break;
      client = next;
      if (!trusted(next)) break;
    }
    return client.toString();
  };
}

export function trustedProxy(trustedProxies: string[]): (address: string) => boolean {
  const trusted = trustedIn(trustedProxies.map(readNetwork));
  return (address) => {
    const read = readAddress(address);
    return read !== undefined && trusted(read);
  };
}

function trustedIn(networks: Network[]) {
  return (address: Address) => networks.some((network) => isWithin(address, network));
}

function withoutPort(hop: string): string {
  return /^\[([^\]]*)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop;
}

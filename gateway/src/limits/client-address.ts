import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { type Address, readAddress } from '@parley/chassis/client-network';
import ipaddr from 'ipaddr.js';

type Network = readonly [Address, number];

/** What of a request tells where it came from. */
export interface RequestSource {
  headers: IncomingHttpHeaders;
  socket: { remoteAddress?: string | undefined };
}

/**
 * Tells the address of a request's client: the socket's own; or, where that is a trusted proxy, the right-most hop of
 * `X-Forwarded-For` that is none. A hop that is no address counts as the proxy that named it. What an untrusted peer says in
 * that header is not read. IPv4 within IPv6 is told as IPv4.
 * @param trustedProxies addresses or CIDRs.
 */
export function clientAddress(trustedProxies: string[]): (request: RequestSource) => string {
  const networks = trustedProxies.map(readNetwork);
  const trusted = trustedIn(networks);
  return (request) => {
    const peer = request.socket.remoteAddress ?? '';
    if (networks.length === 0 && isIP(peer) === 4) return peer; // as the system writes it
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

/** Tells whether an address is a trusted proxy's. */
export function trustedProxy(trustedProxies: string[]): (address: string) => boolean {
  const trusted = trustedIn(trustedProxies.map(readNetwork));
  return (address) => {
    const read = readAddress(address);
    return read !== undefined && trusted(read);
  };
}

function trustedIn(networks: Network[]) {
  return (address: Address) => networks.some((network) => within(address, network));
}

/** @throws Error for what is neither an address nor a CIDR. */
export function readNetwork(text: string): Network {
  const [host = '', bits, ...more] = text.split('/');
  const address = isIP(host) ? ipaddr.parse(host) : undefined;
  if (!address || more.length > 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits)))
    throw new Error(`${text} is no address or CIDR`);
  const length = address.kind() === 'ipv4' ? 32 : 128;
  const prefix = bits === undefined ? length : Number(bits);
  if (prefix > length) throw new Error(`${text} has too long a prefix`);
  return [address, prefix];
}

function within(address: Address, [network, prefix]: Network): boolean {
  return address.kind() === network.kind() && address.match(network, prefix);
}

function withoutPort(hop: string): string {
  return /^\[([^\]]*)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop;
}

import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { type Address, readAddress } from '@parley/kernel/client-network';
import ipaddr from 'ipaddr.js';

type Network = readonly [Address, number];

export interface RequestSource {
  headers: IncomingHttpHeaders;
  socket: { remoteAddress?: string | undefined };
}

/** The peer, or behind trusted proxies the right-most untrusted hop; an invalid hop counts as its proxy. */
export function clientAddress(trustedProxies: string[]): (request: RequestSource) => string {
  const networks = trustedProxies.map(readNetwork);
  const trusted = trustedIn(networks);
  return (request) => {
    const peer = request.socket.remoteAddress ?? '';
    if (networks.length === 0 && isIP(peer) === 4) return peer; // already in canonical form
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
  return (address: Address) => networks.some((network) => within(address, network));
}

/** Of an IPv4-mapped IPv6 address before the IPv4 one. */
const mappedBits = 96;

/** Reads IPv4-mapped IPv6 as IPv4, as the addresses of clients are. @throws Error for anything but an address or CIDR. */
export function readNetwork(text: string): Network {
  const [host = '', bits, ...more] = text.split('/');
  const address = isIP(host) ? ipaddr.parse(host) : undefined;
  if (!address || more.length > 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits)))
    throw new Error(`${text} is no address or CIDR`);
  const length = address.kind() === 'ipv4' ? 32 : 128;
  const prefix = bits === undefined ? length : Number(bits);
  if (prefix > length) throw new Error(`${text} has too long a prefix`);
  if (!(address instanceof ipaddr.IPv6) || !address.isIPv4MappedAddress()) return [address, prefix];
  if (prefix < mappedBits) throw new Error(`${text} has too short a prefix`);
  return [address.toIPv4Address(), prefix - mappedBits];
}

function within(address: Address, [network, prefix]: Network): boolean {
  // Each class by itself: whether the overloads of their union can be called depends on the order in which files are read.
  if (address instanceof ipaddr.IPv4) return network instanceof ipaddr.IPv4 && address.match(network, prefix);
  return network instanceof ipaddr.IPv6 && address.match(network, prefix);
}

function withoutPort(hop: string): string {
  return /^\[([^\]]*)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop;
}

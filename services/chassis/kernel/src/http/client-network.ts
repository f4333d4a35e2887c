import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** An address and the length of its prefix in bits. */
export type Network = readonly [Address, number];

/** Number of bits of an IPv4-mapped IPv6 address that precede its IPv4 address. */
const mappedBits = 96;

/**
 * Returns the key by which limits identify a client: its IPv4 address, or the /64 network of its IPv6 address, because the client can
 * choose any address in that network. `unknown` for an invalid address.
 */
export function clientNetwork(address: string): string {
  if (isIP(address) === 4) return address; // this form is already canonical
  const read = readAddress(address);
  if (!read) return 'unknown';
  if (!(read instanceof ipaddr.IPv6)) return read.toString();
  return `${new ipaddr.IPv6([...read.parts.slice(0, 4), 0, 0, 0, 0]).toString()}/64`;
}

/** Returns the network of a site: the IPv4 /24 or IPv6 /48 of the address; `unknown` for an invalid address. */
export function widerNetwork(address: string): string {
  const read = readAddress(address);
  if (!read) return 'unknown';
  if (read instanceof ipaddr.IPv6)
    return `${new ipaddr.IPv6([...read.parts.slice(0, 3), 0, 0, 0, 0, 0]).toString()}/48`;
  return `${read.toString().replace(/\d+$/u, '0')}/24`;
}

/** Returns the network of a provider: the IPv4 /16 or IPv6 /32 of the address; `unknown` for an invalid address. */
export function widestNetwork(address: string): string {
  const read = readAddress(address);
  if (!read) return 'unknown';
  if (read instanceof ipaddr.IPv6)
    return `${new ipaddr.IPv6([...read.parts.slice(0, 2), 0, 0, 0, 0, 0, 0]).toString()}/32`;
  return `${read.toString().replace(/\d+\.\d+$/u, '0.0')}/16`;
}

/**
 * Returns the address in the canonical form that PostgreSQL's `inet` accepts: without a zone, and IPv4-mapped IPv6 as IPv4. Undefined for
 * text that is not an address.
 */
export function plainAddress(text: string): string | undefined {
  return readAddress(text)?.toString();
}

/**
 * Reads IPv4-mapped IPv6 as IPv4 and drops a zone (`%eth0`). `isIP` checks the text first, because ipaddr.js also accepts octal,
 * hexadecimal and short forms, and does not accept every zone.
 */
export function readAddress(text: string): Address | undefined {
  return isIP(text) ? ipaddr.process(text.replace(/%.*$/su, '')) : undefined;
}

/** Reads IPv4-mapped IPv6 as IPv4, as `readAddress` does. @throws Error for anything but an address or CIDR. */
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

export function isWithin(address: Address, [network, prefix]: Network): boolean {
  if (address instanceof ipaddr.IPv4) return network instanceof ipaddr.IPv4 && address.match(network, prefix);
  return network instanceof ipaddr.IPv6 && address.match(network, prefix);
}

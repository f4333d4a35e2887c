import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** What limits count as one client: an IPv4 address, or an IPv6 /64, within which a client chooses its addresses; else `unknown`. */
export function clientNetwork(address: string): string {
  const read = readAddress(address);
  if (!read) return 'unknown';
  if (!(read instanceof ipaddr.IPv6)) return read.toString();
  return `${new ipaddr.IPv6([...read.parts.slice(0, 4), 0, 0, 0, 0]).toString()}/64`;
}

/**
 * The address in canonical form, as PostgreSQL's `inet` takes it: without a zone, and IPv4-mapped IPv6 as IPv4. Undefined for what
 * is not an address.
 */
export function plainAddress(text: string): string | undefined {
  return readAddress(text)?.toString();
}

/**
 * Reads IPv4-mapped IPv6 as IPv4 and drops a zone (`%eth0`). Checked by `isIP` first, because ipaddr.js also reads octal,
 * hexadecimal and short forms, and not every zone.
 */
export function readAddress(text: string): Address | undefined {
  return isIP(text) ? ipaddr.process(text.replace(/%.*$/su, '')) : undefined;
}

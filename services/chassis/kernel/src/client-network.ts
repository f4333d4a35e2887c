import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** What limits count as one client: an IPv4 address, or the /64 that an IPv6 client can move about in; else `unknown`. */
export function clientNetwork(address: string): string {
  const read = readAddress(address);
  if (!read) return 'unknown';
  if (!(read instanceof ipaddr.IPv6)) return read.toString();
  return `${new ipaddr.IPv6([...read.parts.slice(0, 4), 0, 0, 0, 0]).toString()}/64`;
}

/**
 * The address in its usual spelling, as it may be stored and given to a database: without a zone, and IPv4 within IPv6 as IPv4.
 * Undefined where it is none.
 */
export function plainAddress(text: string): string | undefined {
  return readAddress(text)?.toString();
}

/**
 * IPv4 within IPv6 is read as IPv4. A zone (`%eth0`), which tells one's own links apart, is left out. Only what the system itself
 * would take: ipaddr.js also reads octal, hexadecimal and short forms, and not every zone.
 */
export function readAddress(text: string): Address | undefined {
  return isIP(text) ? ipaddr.process(text.replace(/%.*$/su, '')) : undefined;
}

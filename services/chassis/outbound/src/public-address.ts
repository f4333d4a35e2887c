import { isIPv6 } from 'node:net';
import { type Address, isWithin, type Network, readAddress, readNetwork } from '@parley/kernel/http/client-network';

/** Networks that may not be called: IANA's special-purpose registry, multicast, and the public address of Azure's metadata service. */
const refusedIpv4 = networks(
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
);

/** The delegated global unicast space, which excludes ::/96, fc00::/7 and fe80::/10. */
const globalIpv6 = readNetwork('2000::/3');
/** Refused networks of the global unicast space: those of protocol assignments, documentation, 6to4, 6bone and AS112. */
const refusedIpv6 = networks('2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3ffe::/16', '3fff::/20');

/** The NAT64 prefix: the last 32 bits are the translated IPv4 address. The local-use prefix 64:ff9b:1::/48 is refused. */
const nat64 = readNetwork('64:ff9b::/96');

/**
 * Reports whether an address belongs to a host on the public Internet. Accepts IPv4-mapped addresses too. False for text that is not an
 * address.
 */
export function isPublicAddress(text: string): boolean {
  const address = readAddress(isIPv6(text) ? withoutDots(text) : text);
  return address !== undefined && isPublic(address);
}

/**
 * Normalizes an IPv6 address, because ipaddr.js reads `::8.8.8.8` like `::ffff:8.8.8.8`. Returns an empty text for an address with a zone.
 */
function withoutDots(ipv6: string): string {
  return URL.parse(`http://[${ipv6}]`)?.hostname.slice(1, -1) ?? '';
}

function isPublic(address: Address): boolean {
  if (address.kind() === 'ipv4') return !refusedIpv4.some((network) => isWithin(address, network));
  const bytes = address.toByteArray();
  if (isWithin(address, nat64)) return isPublicAddress(bytes.slice(12).join('.'));
  return (
    isWithin(address, globalIpv6) && !isIsatap(bytes) && !refusedIpv6.some((network) => isWithin(address, network))
  );
}

function isIsatap([, , , , , , , , first = 0, ...next]: number[]): boolean {
  return (first & 0xfd) === 0 && next[0] === 0 && next[1] === 0x5e && next[2] === 0xfe;
}

function networks(...texts: string[]): Network[] {
  return texts.map(readNetwork);
}

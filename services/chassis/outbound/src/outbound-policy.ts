import { isIP } from 'node:net';
import { isWithin, type Network, readAddress, readNetwork } from '@parley/kernel/http/client-network';
import { isPublicAddress } from './public-address.ts';

export interface OutboundPolicyOptions {
  allowlist: readonly string[];
  ports: readonly string[];
}

export type OutboundPolicy = ReturnType<typeof outboundPolicy>;

const defaultPorts: Record<string, number> = { 'http:': 80, 'https:': 443 };

export function outboundPolicy({ allowlist, ports }: OutboundPolicyOptions) {
  const networks: Network[] = [];
  const hosts = new Set<string>();
  for (const entry of allowlist) {
    if (isIP(entry.split('/')[0] ?? '')) networks.push(readNetwork(entry));
    else hosts.add(entry);
  }
  const ranges = ports.map((range) => {
    const [from = 0, to = from] = range.split('-').map(Number);
    return { from, to };
  });

  function mayCall(address: string): boolean {
    const read = readAddress(address);
    return isPublicAddress(address) || (read !== undefined && networks.some((network) => isWithin(read, network)));
  }

  return {
    mayCall,
    isAllowedHost: (host: string): boolean => hosts.has(host),
    /** Returns why a URL is refused before its name is resolved; undefined if it is allowed. The text completes a message "<path> …". */
    problemOf(text: string): string | undefined {
      const url = URL.parse(text);
      if (!url) return 'must be a URL';
      const defaultPort = defaultPorts[url.protocol];
      if (defaultPort === undefined) return 'must begin with http:// or https://';
      if (url.username !== '' || url.password !== '' || hasUserInfo(text)) return 'must have no user or password';
      const port = url.port === '' ? defaultPort : Number(url.port);
      if (!ranges.some(({ from, to }) => port >= from && port <= to)) return `must not use port ${port}`;
      const host = hostOf(url);
      if (host === '' || host.startsWith('.') || host.includes('..')) return 'must have a host';
      return isIP(host) && !mayCall(host) ? notPublic : undefined;
    },
  };
}

/**
 * The error for a host that is not public. A name without addresses gets the same error, so that the error does not reveal which internal
 * names exist.
 */
export const notPublic = 'must have a host with a public address';

/** Returns the host in lower-case ASCII, without IPv6 brackets and final dot. `URL` has normalized octal, hexadecimal and short IPv4. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/gu, '').replace(/\.$/u, '');
}

function hasUserInfo(text: string): boolean {
  const [authority = ''] = text
    .trim()
    .replace(/^[a-z]+:[/\\]*/iu, '')
    .split(/[/\\?#]/u);
  return authority.includes('@');
}

import { isIP } from 'node:net';
import { SettingsError } from '@parley/kernel/config';

/**
 * The gRPC target for an address of `<UNIT>_RPC_URL`: one `host:port`, or a list separated by commas, which is balanced round robin.
 * gRPC does not resolve lists of names, so a list holds IP addresses of one version; `[::1]:4001` for IPv6.
 * @throws SettingsError where it is neither.
 */
export function rpcTarget(address: string): string {
  const list = address.split(',').map((part) => part.trim());
  if (list.length === 1) return address;
  const [version, ...others] = new Set(list.map((part) => isIP(hostOf(part))));
  if (!version || others.length > 0) {
    throw new SettingsError([
      `${address}: a list of gRPC addresses holds IP addresses of one version, each with its port`,
    ]);
  }
  return `ipv${version}:${list.join(',')}`;
}

function hostOf(address: string): string {
  return /^(?:\[(.+)\]|([^:[\]]+)):\d{1,5}$/u.exec(address)?.slice(1).find(Boolean) ?? '';
}

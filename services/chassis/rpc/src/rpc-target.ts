import { isIP } from 'node:net';
import { SettingsError } from '@parley/kernel/config';

/**
 * What gRPC dials for an address of `<UNIT>_RPC_URL`: one `host:port`, or several separated by commas, which are balanced
 * round robin. gRPC resolves names one at a time, so that a list is of IP addresses, all of one version; `[::1]:4001` for IPv6.
 * @throws SettingsError where it is none of these.
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

import { isIP } from 'node:net';
import { SettingsError } from '@parley/kernel/settings/config';

/**
 * Returns the gRPC target for an address of `<UNIT>_RPC_URL`: one `host:port`, or a list separated by commas, which is balanced round
 * robin. gRPC does not resolve names in a list, so a list has IP addresses of one version. An IPv6 address is written as `[::1]:4001`.
 * @throws SettingsError if the address is neither one `host:port` nor such a list.
 */
export function rpcTarget(address: string): string {
  const list = address.split(',').map((part) => part.trim());
  if (!list.every((part) => hostOf(part))) throw new SettingsError([`${address}: is not host:port`]);
  if (list.length === 1) return address;
  const [version, ...others] = new Set(list.map((part) => isIP(hostOf(part))));
  if (!version || others.length > 0) {
    throw new SettingsError([
      `${address}: a list of gRPC addresses holds IP addresses of one version, each with its port`,
    ]);
  }
  return `ipv${version}:${list.join(',')}`;
}

/** Returns the host of `host:port`; empty if the text is invalid. */
function hostOf(address: string): string {
  const [, version6, host = version6 ?? '', port] =
    /^(?:\[([\da-f:.]+)\]|([^\s:/[\]]+)):(\d{1,5})$/iu.exec(address) ?? [];
  return Number(port) >= 1 && Number(port) <= 65_535 ? host : '';
}

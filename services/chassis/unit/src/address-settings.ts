import { addressName, type Endpoint } from '@parley/kernel/processes/addresses';
import { type Environment, readSettings, SettingsError } from '@parley/kernel/settings/config';
import { httpUrl } from '@parley/kernel/settings/setting-types';
import { type Setting, setting } from '@parley/kernel/settings/settings';
import { meshSettings } from '@parley/kernel/settings/shared-settings';
import { rpcTarget } from '@parley/rpc/rpc-target';
import { z } from 'zod';

/** An endpoint that a unit uses on another unit. */
export interface UsedEndpoint {
  unit: string;
  endpoint: Exclude<Endpoint, 'ops'>;
}

/** One `host:port`, or several, in the format of `rpcTarget`. */
const rpcAddress = z
  .string()
  .check(({ value, issues }) => {
    try {
      rpcTarget(value);
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
      issues.push({ code: 'custom', input: value, message: error.problems.join() });
    }
  })
  .meta({ title: 'host:port' });

/** An HTTP server has one address, without a path. */
const httpAddress = httpUrl.refine((url) => {
  if (!URL.canParse(url)) return true;
  const { href, origin, port } = new URL(url);
  return href === `${origin}/` && port !== '0';
}, 'has more than a host and a port');

/** Returns, by name, the settings with which a unit in a separate process finds these endpoints. All of them are required. */
export function addressSettings(used: readonly UsedEndpoint[]): Record<string, Setting<string>> {
  const settings = used.map(({ unit, endpoint }) => {
    const name = addressName(unit, endpoint);
    return [name, setting(name, endpoint === 'rpc' ? rpcAddress : httpAddress, meaningOf(unit, endpoint))];
  });
  return Object.fromEntries(settings) as Record<string, Setting<string>>;
}

/**
 * Reads the addresses of these endpoints for a unit in a separate process.
 * @throws SettingsError if an address is missing or wrong, or if a subgraph would be called without encryption although the mesh is
 * encrypted. Public endpoints may be called without encryption, because a proxy in front of them encrypts.
 */
export function readAddresses(env: Environment, used: readonly UsedEndpoint[]): Record<string, string> {
  const addresses = readSettings(env, addressSettings(used));
  const { name } = meshSettings.tls.certFile;
  const graphs = used
    .filter(({ endpoint }) => endpoint === 'graph')
    .map(({ unit, endpoint }) => addressName(unit, endpoint));
  const plain = graphs.filter((address) => env[name] && isPlain(addresses[address] ?? ''));
  if (plain.length > 0) throw new SettingsError(plain.map((address) => `${address}: is not https, and ${name} is set`));
  return addresses;
}

const isPlain = (address: string) => /^http:/iu.test(address);

const endpointMeanings: Record<UsedEndpoint['endpoint'], (unit: string) => string> = {
  rpc: (unit) => `gRPC address of ${unit}, as \`host:port\``,
  graph: (unit) => `URL of the subgraph of ${unit}`,
  public: (unit) => `HTTP URL at which other units reach ${unit}`,
};

function meaningOf(unit: string, endpoint: UsedEndpoint['endpoint']): string {
  return `${endpointMeanings[endpoint](unit)}. Not needed if ${unit} runs in the same process.`;
}

import { addressesOf, planReplicas, portSettings, type Replica } from '@parley/mesh/replicas';
import { type ChartPod, chartRelease } from './chart-release.ts';

/**
 * Returns the environment that the chart sets for a unit's container, with ports and addresses of this machine.
 * @param engines the settings of this machine's servers
 */
export async function chartEnvironment(unit: string, engines: Record<string, string>) {
  const replicas = (await planReplicas()).flat();
  const own = replicas.find(({ name }) => name === `${unit}-1`);
  const pod = (await chartRelease({ engines })).pods.find((each) => each.unit === unit);
  if (!own || !pod) throw new Error(`there is no unit ${unit}`);
  const env = { ...pod.env, ...portSettings(own), ...addressesHere(pod, replicas) };
  return { ports: own.ports, env, limitMb: pod.limitMb };
}

/** Returns the settings that contain addresses of other units, with addresses on this machine in their place. */
function addressesHere({ env }: ChartPod, replicas: Replica[]): Record<string, string> {
  const addresses = Object.keys(env).flatMap((name) => {
    const [, unit, endpoint] = /^([A-Z]+)_(RPC|GRAPH|HTTP)_URL$/u.exec(name) ?? [];
    if (unit === undefined) return [];
    const served = endpoint === 'GRAPH' ? 'graph' : endpoint === 'HTTP' ? 'public' : 'rpc';
    const [address] = addressesOf(replicas, unit.toLowerCase(), served);
    return [[name, `${served === 'rpc' ? '' : 'http://'}${address}`] as const];
  });
  return Object.fromEntries(addresses);
}

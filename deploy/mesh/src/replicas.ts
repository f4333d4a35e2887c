import { join } from 'node:path';
import { type Addresses, createAddresses, type Endpoint } from '@parley/kernel/processes/addresses';
import { freePorts } from '@parley/servers/ports';
import { root } from '@parley/servers/root';
import { units, waves } from '@parley/units';

/** One process of a unit. */
export interface Replica {
  /** The unit and a number, e.g. `agent-2`. */
  name: string;
  unit: string;
  /** The path of the unit's `main.ts`. */
  main: string;
  ports: Partial<Record<Endpoint, number>> & { ops: number };
}

/** Plans all processes of the mesh, with a free port for each endpoint, in waves: a unit calls only units of earlier waves. */
export async function planReplicas(): Promise<Replica[][]> {
  const ports = await freePorts(units.reduce((sum, { replicas, serves }) => sum + replicas * (1 + serves.length), 0));
  const next = () => ports.pop() ?? 0;
  return waves.map((wave) =>
    wave.flatMap(({ name, folder, replicas, serves }) =>
      Array.from({ length: replicas }, (_, index) => ({
        name: `${name}-${index + 1}`,
        unit: name,
        main: join(root, folder, 'src/main.ts'),
        ports: { ops: next(), ...Object.fromEntries(serves.map((endpoint) => [endpoint, next()])) },
      })),
    ),
  );
}

/** Returns `host:port` of one endpoint of every replica of a unit. */
export function addressesOf(replicas: Replica[], unit: string, endpoint: Endpoint): string[] {
  return replicas.flatMap(({ unit: its, ports: { [endpoint]: port } }) =>
    its === unit && port !== undefined ? [`127.0.0.1:${port}`] : [],
  );
}

/** Returns the addresses of all replicas. A unit's first replica is listed under the unit's name, the others under their own names. */
export function meshAddresses(replicas: Replica[]): Addresses {
  const addresses = createAddresses({});
  for (const { name, unit, ports } of replicas) {
    for (const [endpoint, port] of Object.entries(ports) as [Endpoint, number][]) {
      const address = `${endpoint === 'rpc' ? '' : 'http://'}127.0.0.1:${port}`;
      addresses.announce(name.endsWith('-1') ? unit : name, endpoint, address);
    }
  }
  return addresses;
}

/** Returns the settings with the ports of one replica. */
export function portSettings({ unit, ports }: Replica): Record<string, string> {
  const nameOf = (endpoint: string) => `${unit}_${endpoint === 'public' ? '' : `${endpoint}_`}port`.toUpperCase();
  return Object.fromEntries(Object.entries(ports).map(([endpoint, port]) => [nameOf(endpoint), String(port)]));
}

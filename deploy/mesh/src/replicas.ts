import { join } from 'node:path';
import { units, waves } from '@parley/local/units';
import { freePorts } from '@parley/servers/ports';
import { root } from '@parley/servers/root';

/** One process of a unit. */
export interface Replica {
  /** The unit and a number, e.g. `agent-2`. */
  name: string;
  unit: string;
  /** Its `main.ts`. */
  main: string;
  ports: { ops: number; rpc?: number; graph?: number; public?: number };
}

type Endpoint = keyof Replica['ports'];

/** All processes of the mesh with a free port for each of their doors, in waves: those of a later one ask those before it. */
export async function planReplicas(): Promise<Replica[][]> {
  const ports = await freePorts(units.reduce((sum, { replicas, serves }) => sum + replicas * (1 + serves.length), 0));
  const next = () => ports.pop() ?? 0;
  return waves.map((wave) =>
    wave.flatMap(({ name, folder, replicas, serves }) =>
      Array.from({ length: replicas }, (_, index) => ({
        name: `${name}-${index + 1}`,
        unit: name,
        main: join(root, folder, 'src/main.ts'),
        ports: { ops: next(), ...Object.fromEntries(serves.map((door) => [door, next()])) },
      })),
    ),
  );
}

/** `host:port` of one door of every replica of a unit. */
export function addressesOf(replicas: Replica[], unit: string, door: Endpoint): string[] {
  return replicas.flatMap(({ unit: its, ports: { [door]: port } }) =>
    its === unit && port !== undefined ? [`127.0.0.1:${port}`] : [],
  );
}

/** The ports on which one replica listens. */
export function portSettings({ unit, ports }: Replica): Record<string, string> {
  const nameOf = (door: string) => `${unit}_${door === 'public' ? '' : `${door}_`}port`.toUpperCase();
  return Object.fromEntries(Object.entries(ports).map(([door, port]) => [nameOf(door), String(port)]));
}

import { join } from 'node:path';
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

type Door = keyof Replica['ports'];

/**
 * Units, how many of each, and where they listen beside the port for operators. They stop in this order, last first: who asks
 * others goes before them.
 */
const plan: [unit: string, count: number, ...doors: Door[]][][] = [
  [
    ['identity', 1, 'rpc', 'graph'],
    ['agent', 2, 'rpc', 'graph'],
  ],
  [
    ['evaluation', 1, 'rpc'],
    ['session', 2, 'rpc', 'graph'],
  ],
  [['gateway', 2, 'public']],
];

/** All processes of the mesh with a free port for each of their doors, in waves: those of a later one ask those before it. */
export async function planReplicas(): Promise<Replica[][]> {
  const ports = await freePorts(plan.flat().reduce((sum, [, count, ...doors]) => sum + count * (1 + doors.length), 0));
  const next = () => ports.pop() ?? 0;
  return plan.map((wave) =>
    wave.flatMap(([unit, count, ...doors]) =>
      Array.from({ length: count }, (_, index) => ({
        name: `${unit}-${index + 1}`,
        unit,
        main: join(root, unit === 'gateway' ? unit : `services/${unit}`, 'src/main.ts'),
        ports: { ops: next(), ...Object.fromEntries(doors.map((door) => [door, next()])) },
      })),
    ),
  );
}

/** `host:port` of one door of every replica of a unit. */
export function addressesOf(replicas: Replica[], unit: string, door: Door): string[] {
  return replicas.flatMap(({ unit: its, ports: { [door]: port } }) =>
    its === unit && port !== undefined ? [`127.0.0.1:${port}`] : [],
  );
}

/** The ports on which one replica listens. */
export function portSettings({ unit, ports }: Replica): Record<string, string> {
  const nameOf = (door: string) => `${unit}_${door === 'public' ? '' : `${door}_`}port`.toUpperCase();
  return Object.fromEntries(Object.entries(ports).map(([door, port]) => [nameOf(door), String(port)]));
}

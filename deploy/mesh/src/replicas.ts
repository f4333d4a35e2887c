import { join } from 'node:path';
import { freePorts } from '@parley/servers/ports';
import { root } from '@parley/servers/root';

const host = '127.0.0.1';

/** One process of a unit. */
export interface Replica {
  /** The unit and a number, e.g. `agent-2`. */
  name: string;
  unit: string;
  /** Its `main.ts`. */
  main: string;
  ports: { ops: number; rpc?: number; graph?: number; public?: number };
}

interface UnitPlan {
  unit: string;
  folder: string;
  count: number;
  doors: ('rpc' | 'graph' | 'public')[];
}

/** Units in the order in which they stop, last first: who asks others goes before them. */
const plan: UnitPlan[][] = [
  [
    { unit: 'identity', folder: 'services/identity', count: 1, doors: ['rpc', 'graph'] },
    { unit: 'agent', folder: 'services/agent', count: 2, doors: ['rpc', 'graph'] },
  ],
  [
    { unit: 'evaluation', folder: 'services/evaluation', count: 1, doors: ['rpc'] },
    { unit: 'session', folder: 'services/session', count: 2, doors: ['rpc', 'graph'] },
  ],
  [{ unit: 'gateway', folder: 'gateway', count: 2, doors: ['public'] }],
];

/** All processes of the mesh with a free port for each of their doors, in waves: those of a later one ask those before it. */
export async function planReplicas(): Promise<Replica[][]> {
  const needed = plan.flat().reduce((sum, { count, doors }) => sum + count * (doors.length + 1), 0);
  const ports = await freePorts(needed);
  const nextPort = () => {
    const port = ports.pop();
    if (port === undefined) throw new Error('fewer ports than doors');
    return port;
  };
  return plan.map((wave) =>
    wave.flatMap(({ unit, folder, count, doors }) =>
      Array.from({ length: count }, (_, index) => ({
        name: `${unit}-${index + 1}`,
        unit,
        main: join(root, folder, 'src/main.ts'),
        ports: { ops: nextPort(), ...Object.fromEntries(doors.map((door) => [door, nextPort()])) },
      })),
    ),
  );
}

/** `host:port` of one door of every replica of a unit. */
export function addressesOf(replicas: Replica[], unit: string, door: keyof Replica['ports']): string[] {
  return replicas.flatMap((replica) => {
    const port = replica.ports[door];
    return replica.unit === unit && port !== undefined ? [`${host}:${port}`] : [];
  });
}

/** Where units find each other. gRPC gets all addresses and goes round them; a subgraph has one, `graphUrls`. */
export function neighbours(replicas: Replica[], graphUrls: Record<string, string>): Record<string, string> {
  const settings = new Map<string, string>();
  for (const { unit } of replicas) {
    const rpc = addressesOf(replicas, unit, 'rpc');
    if (rpc.length > 0) settings.set(`${unit.toUpperCase()}_RPC_URL`, rpc.join(','));
  }
  for (const [unit, url] of Object.entries(graphUrls)) settings.set(`${unit.toUpperCase()}_GRAPH_URL`, url);
  return Object.fromEntries(settings);
}

/** The ports on which one replica listens. */
export function portSettings({ unit, ports }: Replica): Record<string, string> {
  return Object.fromEntries(
    Object.entries(ports).map(([door, port]) => [
      `${unit.toUpperCase()}_${door === 'public' ? '' : `${door.toUpperCase()}_`}PORT`,
      String(port),
    ]),
  );
}

import { setTimeout as delay } from 'node:timers/promises';
import type { Callers } from './caller.ts';
import type { Database, SchemaDeclaration } from './database/types.ts';
import { isDomainError } from './errors.ts';
import type { EventLog } from './event-log/event-log.ts';
import type { EventBus } from './events/event-bus.ts';
import type { KeyValue } from './key-value/key-value.ts';
import type { ObjectStore } from './object-store/object-store.ts';
import type { Part } from './unit.ts';

/** The doors of a unit. `rpc`: gRPC. `graph`: its subgraph. `ops`: health and metrics. `public`: what clients use. */
export type Door = 'rpc' | 'graph' | 'ops' | 'public';

/** Where the units of the mesh are reached. */
export interface Addresses {
  /**
   * `host:port` for `rpc`, a base URL for the others.
   * @throws NotListeningYetError where a unit of this process is still to start.
   * @throws Error naming the setting that is missing.
   */
  of(unit: string, door: Door): string;
  /** A unit tells where it listens, for the others in the same process and for the start-up banner. */
  announce(unit: string, door: Door, address: string): void;
  /** All that was announced in this process so far, by unit. */
  announced(): Record<string, Partial<Record<Door, string>>>;
}

/**
 * What a unit finds around it: its engines, behind ports, and the way to its neighbours. Made once a process: by `connect` from
 * the environment in production, by the one-process mesh for all its units together.
 */
export interface Surroundings {
  /** Opens nothing yet; `databasePart` does. */
  database(schema: SchemaDeclaration): Database;
  keyValue: KeyValue;
  eventLog: EventLog;
  eventBus: EventBus;
  /** Of all tenants: work for one of them goes by `tenantObjects`. */
  objectStore: ObjectStore;
  addresses: Addresses;
  callers: Callers;
  /** Address that servers of the mesh listen on. */
  host: string;
  /** True where units bring their own schema up to date when they start; false where a migration job does it before. */
  migrateOnStart: boolean;
  /** True where no other process can hold a lease in these databases, so that the leases of a dead run are void at once. */
  soleOwner: boolean;
  /** Whether gRPC reflection and other aids to developers are open. */
  development: boolean;
}

/** How long a database may take to answer a unit that starts: both may have been started together. */
const startPatienceMs = 30_000;
const askAgainMs = 250;

/**
 * A unit's database as a part: migrated on start where that is wanted, else waited for up to 30 s; asked for readiness,
 * closed on stop.
 */
export function databasePart(database: Database, { migrateOnStart }: Pick<Surroundings, 'migrateOnStart'>): Part {
  return {
    name: 'database',
    async start() {
      await (migrateOnStart ? database.migrate() : untilItAnswers(database));
    },
    stop: () => database.close(),
    ready: () => database.ping(),
  };
}

async function untilItAnswers(database: Database): Promise<void> {
  const deadline = performance.now() + startPatienceMs;
  for (;;) {
    try {
      return await database.ping();
    } catch (error) {
      // A refused password does not mend itself.
      if (!isDomainError(error) || error.kind !== 'unavailable' || performance.now() > deadline) throw error;
    }
    await delay(askAgainMs);
  }
}

/** A unit of this process has not started yet. */
export class NotListeningYetError extends Error {
  override readonly name = 'NotListeningYetError';
}

/**
 * Addresses as the environment gives them (`AGENT_RPC_URL`, `AGENT_GRAPH_URL`), and those announced in this process first.
 * @param units those that run in this process, for which no setting is asked.
 */
export function createAddresses(env: Record<string, string | undefined>, units: string[] = []): Addresses {
  const announced = new Map<string, string>();
  return {
    of(unit, door) {
      const name = `${unit.toUpperCase()}_${door.toUpperCase()}_URL`;
      const address = announced.get(`${unit} ${door}`) ?? env[name];
      if (address) return address;
      if (units.includes(unit)) throw new NotListeningYetError(`${unit} has not started yet`);
      throw new Error(`${name}: is missing`);
    },
    announce: (unit, door, address) => void announced.set(`${unit} ${door}`, address),
    announced() {
      const units: Record<string, Partial<Record<Door, string>>> = {};
      for (const [key, address] of announced) {
        const [unit, door] = key.split(' ') as [string, Door];
        units[unit] = { ...units[unit], [door]: address };
      }
      return units;
    },
  };
}

/** What a unit is reached by. `rpc`: gRPC. `graph`: its subgraph. `ops`: health and metrics. `public`: what clients use. */
export type Endpoint = 'rpc' | 'graph' | 'ops' | 'public';

/** Where the units of the mesh are reached. */
export interface Addresses {
  /**
   * `host:port` for `rpc`, a base URL for the others.
   * @throws NotListeningYetError where a unit of this process is still to start.
   * @throws Error naming the setting that is missing.
   */
  of(unit: string, endpoint: Endpoint): string;
  /** Publishes where a unit listens, for the others in the same process and for the start-up banner. */
  announce(unit: string, endpoint: Endpoint, address: string): void;
  /** All that was announced in this process so far, by unit. */
  announced(): Record<string, Partial<Record<Endpoint, string>>>;
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
    of(unit, endpoint) {
      const name = `${unit.toUpperCase()}_${endpoint.toUpperCase()}_URL`;
      const address = announced.get(`${unit} ${endpoint}`) ?? env[name];
      if (address) return address;
      if (units.includes(unit)) throw new NotListeningYetError(`${unit} has not started yet`);
      throw new Error(`${name}: is missing`);
    },
    announce: (unit, endpoint, address) => void announced.set(`${unit} ${endpoint}`, address),
    announced() {
      const units: Record<string, Partial<Record<Endpoint, string>>> = {};
      for (const [key, address] of announced) {
        const [unit, endpoint] = key.split(' ') as [string, Endpoint];
        units[unit] = { ...units[unit], [endpoint]: address };
      }
      return units;
    },
  };
}

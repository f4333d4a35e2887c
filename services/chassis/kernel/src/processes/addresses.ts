/** Endpoints of a unit. `rpc`: gRPC. `graph`: its subgraph. `ops`: health and metrics. `public`: for clients. */
export type Endpoint = 'rpc' | 'graph' | 'ops' | 'public';

export type Addresses = ReturnType<typeof createAddresses>;
/**
 * Returns the name of the setting with an address of a unit, e.g. `SESSION_RPC_URL`. The name for a public endpoint is e.g.
 * `VOICE_HTTP_URL`; its value is the address at which other units reach the endpoint.
 */
export function addressName(unit: string, endpoint: Endpoint): string {
  return `${unit}_${endpoint === 'public' ? 'http' : endpoint}_url`.toUpperCase();
}

export class NotListeningYetError extends Error {
  override readonly name = 'NotListeningYetError';
}

/**
 * Finds addresses: those announced in this process first, then those in the environment (`AGENT_RPC_URL`, `AGENT_GRAPH_URL`).
 * @param units the units of this process, which need no setting.
 */
export function createAddresses(env: Record<string, string | undefined>, units: string[] = []) {
  const announced: Record<string, Partial<Record<Endpoint, string>>> = {};
  return {
    /**
     * Returns `host:port` for `rpc`, a base URL for other endpoints.
     * @throws NotListeningYetError if a unit of this process has not started yet, or does not serve the endpoint
     * @throws Error with the name of the setting if the setting is missing
     */
    of(unit: string, endpoint: Endpoint): string {
      const name = addressName(unit, endpoint);
      const address = announced[unit]?.[endpoint] ?? env[name];
      if (address) return address;
      if (units.includes(unit))
        throw new NotListeningYetError(
          `${unit} has not started yet, or serves no ${endpoint}; units start in the order of their list`,
        );
      throw new Error(`${name}: is missing`);
    },
    /** Announces the address of a unit to the other units in this process and to the start-up banner. */
    announce(unit: string, endpoint: Endpoint, address: string): void {
      announced[unit] = { ...announced[unit], [endpoint]: address };
    },
    /** The announced addresses of this process so far, by unit. */
    announced: () => ({ ...announced }),
  };
}

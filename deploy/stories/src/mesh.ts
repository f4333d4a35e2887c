import type { Endpoint } from '@parley/kernel/processes/addresses';
import type { Environment } from '@parley/kernel/settings/config';
import { newKeys } from '@parley/local/keys';
import { openDatabase } from '@parley/postgres/database/open';
import type { Database, SchemaDeclaration } from '@parley/postgres/database/types';
import { Client } from './client.ts';
import { mailTo } from './mail.ts';
import { startScriptedModel } from './scripted-model.ts';

/** Addresses of a mesh's processes by name: `host:port`, or a base URL. */
export type UnitAddresses = Record<string, Partial<Record<Endpoint, string>>>;

/** A running mesh, as described in a file that TEST_MESHES names. */
export interface RunningMesh {
  /** The mesh's name in test titles. */
  name: string;
  /** The mesh's environment, with its keys and database. */
  settings: Environment;
  units: UnitAddresses;
  /** A glob pattern for the mesh's log files. */
  logs: string;
  /** The path of the file with the mesh's spans. */
  spans: string;
}

/** A running mesh with the functions that stories use. */
export type TestMesh = Awaited<ReturnType<typeof openMesh>>;

/** Connects to a running mesh, and starts a scripted model for the agents of the calling test file. */
export async function openMesh({ units, ...running }: RunningMesh) {
  const model = await startScriptedModel();
  const databases = new Map<string, Database>();
  const { DATABASE_URL: url = '' } = running.settings;
  return {
    ...running,
    ...reachable(gatewaysIn(units), model.port),
    /** The model of the agents that clients of this test file create with `createAgent`. */
    model,
    /** Returns the addresses of one endpoint of every replica of a unit. */
    addresses: (unit: string, endpoint: Endpoint) => addressesIn(units, unit, endpoint),
    /** Opens the database of one service, for rows that no operation reads or writes. */
    database(schema: SchemaDeclaration): Database {
      const database = databases.get(schema.name) ?? openDatabase({ url, schema, poolSize: 2 });
      databases.set(schema.name, database);
      return database;
    },
    /** Returns the mail that the mesh has sent to an address, in no particular order. */
    mailTo: (address: string) => mailTo(running.settings['PARLEY_DATA_DIR'] ?? '', address),
    /** Closes the connections to the mesh, which keeps running. */
    async leave(): Promise<void> {
      await Promise.all([...databases.values()].map((database) => database.close()));
      await model.server.stop();
    },
  };
}

function addressesIn(units: UnitAddresses, unit: string, endpoint: Endpoint): string[] {
  // `session` and `session-2` are replicas of one unit.
  const ofUnit = Object.entries(units).filter(([name]) => name.replace(/-\d+$/u, '') === unit);
  return ofUnit.flatMap(([, endpoints]) => endpoints[endpoint] ?? []);
}

/** Returns the public GraphQL address of every gateway. */
export function gatewaysIn(units: UnitAddresses): string[] {
  return addressesIn(units, 'gateway', 'public').map((address) => `${address}/graphql`);
}

/** Returns functions that create clients of a mesh. @param gateways the public GraphQL addresses of the mesh's gateways */
export function reachable(gateways: string[], modelPort?: number) {
  const [url = ''] = gateways;
  let visitors = 0;
  /** Creates a client without a sign-in and with its own IP address. Clients are assigned to the gateways round robin. */
  const visitor = (): Client => Object.assign(new Client(gateways[visitors++ % gateways.length] ?? url), { modelPort });
  return {
    /** The GraphQL address of the first gateway. */
    url,
    gateways,
    visitor,
    /** Creates a client with a new account and tenant. */
    async person(): Promise<Client> {
      const client = visitor();
      await client.register();
      return client;
    },
  };
}

/** The address of test servers. URLs that tenants configure may use it. */
export const pagesHost = '127.0.0.3';

/** Returns settings for tests: free ports, new keys, and loopback as a trusted proxy, so that each client can have its own IP address. */
export function testEnvironment(env: Environment = {}): Environment {
  const outbound = { OUTBOUND_ALLOWLIST: pagesHost, OUTBOUND_PORTS: '1-65535' };
  return {
    ...newKeys(),
    GATEWAY_PORT: '0',
    VOICE_PORT: '0',
    STORAGE_PORT: '0',
    TRUSTED_PROXIES: '127.0.0.1/32',
    ...outbound,
    ...env,
  };
}

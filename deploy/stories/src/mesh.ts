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

/** A running mesh, as described by a file that TEST_MESHES names. */
export interface RunningMesh {
  /** Its name in titles of tests. */
  name: string;
  /** Its environment, with its keys and database. */
  settings: Environment;
  units: UnitAddresses;
  /** The files of its log, as a pattern. */
  logs: string;
  /** The file with its spans. */
  spans: string;
}

/** The mesh, as stories use it. */
export type TestMesh = Awaited<ReturnType<typeof openMesh>>;

/** Connects to a running mesh, with a scripted model for the agents of the caller. */
export async function openMesh({ units, ...running }: RunningMesh) {
  const model = await startScriptedModel();
  const databases = new Map<string, Database>();
  const { DATABASE_URL: url = '' } = running.settings;
  return {
    ...running,
    ...reachable(gatewaysIn(units), model.port),
    /** The model of the agents that this file's clients create with `createAgent`. */
    model,
    /** The addresses of one endpoint of every replica of a unit. */
    addresses: (unit: string, endpoint: Endpoint) => addressesIn(units, unit, endpoint),
    /** The database of one service, for rows that no operation reads or writes. */
    database(schema: SchemaDeclaration): Database {
      const database = databases.get(schema.name) ?? openDatabase({ url, schema, poolSize: 2 });
      databases.set(schema.name, database);
      return database;
    },
    /** The mail that it has sent to an address; in no order. */
    mailTo: (address: string) => mailTo(running.settings['PARLEY_DATA_DIR'] ?? '', address),
    /** Closes the connections to it. The mesh keeps running. */
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

/** The public GraphQL address of every gateway. */
export function gatewaysIn(units: UnitAddresses): string[] {
  return addressesIn(units, 'gateway', 'public').map((address) => `${address}/graphql`);
}

/** Creates clients of a mesh, from the public GraphQL addresses of its gateways. */
export function reachable(gateways: string[], modelPort?: number) {
  const [url = ''] = gateways;
  let visitors = 0;
  /** A new client without a sign-in and with its own IP address. Clients are assigned to the gateways round robin. */
  const visitor = (): Client => Object.assign(new Client(gateways[visitors++ % gateways.length] ?? url), { modelPort });
  return {
    /** The GraphQL address of the first gateway. */
    url,
    gateways,
    visitor,
    /** A client with a new account and tenant. */
    async person(): Promise<Client> {
      const client = visitor();
      await client.register();
      return client;
    },
  };
}

/** The address of test servers that tenants' URLs may name. */
export const pagesHost = '127.0.0.3';

/** Settings for tests: free ports, new keys, and loopback as a trusted proxy, so that each client can have an IP address of its own. */
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

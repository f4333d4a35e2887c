import { randomBytes } from 'node:crypto';
import type { Endpoint } from '@parley/kernel/addresses';
import type { Environment } from '@parley/kernel/config';
import { openDatabase } from '@parley/postgres/database/open';
import type { Database, SchemaDeclaration } from '@parley/postgres/database/types';
import { Client } from './client.ts';
import { startScriptedModel } from './scripted-model.ts';

/** Where the processes of a mesh listen, by their names: `host:port`, or a base URL. */
export type UnitAddresses = Record<string, Partial<Record<Endpoint, string>>>;

/** A mesh that runs, as a file that TEST_MESHES names tells of it. */
export interface RunningMesh {
  /** How titles of tests call it. */
  name: string;
  /** What it was configured with: its keys and its database are among it. */
  settings: Environment;
  units: UnitAddresses;
  /** The files of its log, as a pattern. */
  logs: string;
  /** The file with its spans. */
  spans: string;
}

/** A mesh as a story has it. */
export type TestMesh = Awaited<ReturnType<typeof openMesh>>;

/** Opens the way to a mesh that runs, with a scripted model for whoever comes by it. */
export async function openMesh({ units, ...told }: RunningMesh) {
  const model = await startScriptedModel();
  const databases = new Map<string, Database>();
  const { DATABASE_URL: url = '' } = told.settings;
  return {
    ...told,
    ...reachable(gatewaysIn(units), model.port),
    /** What answers for the agents that its people make with `createAgent`. This file's alone. */
    model,
    /** Of every replica of a unit. */
    addresses: (unit: string, door: Endpoint) => addressesIn(units, unit, door),
    /** The rows of one service, for what no operation shows or puts there. */
    database(schema: SchemaDeclaration): Database {
      const database = databases.get(schema.name) ?? openDatabase({ url, schema, poolSize: 2 });
      databases.set(schema.name, database);
      return database;
    },
    /** Leaves it: it runs on. */
    async leave(): Promise<void> {
      await Promise.all([...databases.values()].map((database) => database.close()));
      await model.server.stop();
    },
  };
}

function addressesIn(units: UnitAddresses, unit: string, door: Endpoint): string[] {
  // `session` and `session-2` are two of a kind.
  const ofUnit = Object.entries(units).filter(([name]) => name.replace(/-\d+$/u, '') === unit);
  return ofUnit.flatMap(([, doors]) => doors[door] ?? []);
}

/** The public GraphQL address of every gateway. */
export function gatewaysIn(units: UnitAddresses): string[] {
  return addressesIn(units, 'gateway', 'public').map((address) => `${address}/graphql`);
}

/** The ways to come to a mesh, by the public GraphQL addresses of its gateways, for HTTP and WebSocket. */
export function reachable(gateways: string[], modelPort?: number) {
  const [url = ''] = gateways;
  let visitors = 0;
  /** Somebody new, not signed in, with an address of their own. People take the gateways in turn, and each stays with theirs. */
  const visitor = (): Client => Object.assign(new Client(gateways[visitors++ % gateways.length] ?? url), { modelPort });
  return {
    /** That of the first gateway. */
    url,
    gateways,
    visitor,
    /** Somebody with a fresh account and tenant. */
    async person(): Promise<Client> {
      const client = visitor();
      await client.register();
      return client;
    },
  };
}

/** Free ports, keys, and clients that come through a proxy so that each has an address of its own. */
export function testEnvironment(env: Environment = {}): Environment {
  const key = () => randomBytes(32).toString('base64');
  return {
    MESH_KEY: key(),
    OPERATOR_KEY: key(),
    SECRETS_KEYS: `k1:${key()}`,
    AVATAR_TOKEN_KEYS: `k1:${key()}`,
    GATEWAY_PORT: '0',
    STORAGE_PORT: '0',
    TRUSTED_PROXIES: '127.0.0.1/32',
    ...env,
  };
}

import { randomBytes } from 'node:crypto';
import type { Environment } from '@parley/chassis/config';
import { openDatabase } from '@parley/chassis/database/open';
import type { Database, SchemaDeclaration } from '@parley/chassis/database/types';
import type { Door } from '@parley/chassis/surroundings';
import { Client } from './client.ts';
import { type ScriptedModel, startScriptedModel } from './scripted-model.ts';

/** Where the processes of a mesh listen, by their names. */
export type UnitAddresses = Record<string, Partial<Record<Door, string>>>;

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

/** The ways to come to a mesh. */
export interface Reachable {
  /** The public GraphQL address, for HTTP and WebSocket, of the first gateway. */
  url: string;
  /** That of every gateway. */
  gateways: string[];
  /** Somebody new, not signed in, with an address of their own. People take the gateways in turn, and each stays with theirs. */
  visitor(): Client;
  /** Somebody with a fresh account and tenant. */
  person(): Promise<Client>;
}

/** A mesh as a story has it. */
export interface TestMesh extends Reachable, Omit<RunningMesh, 'units'> {
  /** What answers for the agents that its people make with `createAgent`. This file's alone. */
  model: ScriptedModel;
  /** `host:port`, or a base URL, of every replica of a unit. */
  addresses(unit: string, door: Door): string[];
  /** The rows of one service, for what no operation shows or puts there. */
  database(schema: SchemaDeclaration): Database;
  /** Leaves it: it runs on. */
  leave(): Promise<void>;
}

/** Opens the way to a mesh that runs, with a scripted model for whoever comes by it. */
export async function openMesh(running: RunningMesh): Promise<TestMesh> {
  const { units, ...told } = running;
  const model = await startScriptedModel();
  const databases = new Map<string, Database>();
  const { DATABASE_URL: url = '' } = running.settings;
  const addresses = (unit: string, door: Door): string[] => {
    // `session` and `session-2` are two of a kind.
    const ofUnit = Object.entries(units).filter(([name]) => name.replace(/-\d+$/u, '') === unit);
    return ofUnit.flatMap(([, doors]) => doors[door] ?? []);
  };
  const gateways = addresses('gateway', 'public').map((address) => `${address}/graphql`);
  return {
    ...told,
    ...reachable(gateways, Number(new URL(model.server.url).port)),
    model,
    addresses,
    database(schema) {
      const database = databases.get(schema.name) ?? openDatabase({ url, schema, poolSize: 2 });
      databases.set(schema.name, database);
      return database;
    },
    async leave() {
      await Promise.all([...databases.values()].map((database) => database.close()));
      await model.server.stop();
    },
  };
}

/** The ways to come to a mesh, by the public GraphQL addresses of its gateways. */
export function reachable(addresses: string | readonly string[], modelPort?: number): Reachable {
  const gateways = [addresses].flat();
  const [url = ''] = gateways;
  let visitors = 0;
  const visitor = () => {
    const client = new Client(gateways[visitors++ % gateways.length] ?? url);
    client.modelPort = modelPort;
    return client;
  };
  return {
    url,
    gateways,
    visitor,
    async person() {
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

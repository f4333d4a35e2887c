import { randomBytes } from 'node:crypto';
import type { Environment } from '@parley/chassis/config';
import { serviceDatabase } from '@parley/chassis/connect';
import type { Database, SchemaDeclaration } from '@parley/chassis/database/types';
import type { Door } from '@parley/chassis/surroundings';
import { databaseSnapshot } from '@parley/chassis/testing/test-database';
import { type LocalMesh, localMesh } from '@parley/local';
import type { TestFn } from 'ava';
import { Client } from './client.ts';
import { checkSettings, runningMesh } from './running-mesh.ts';

/** A whole mesh, in this process or, where one runs already, that one. */
export interface TestMesh {
  /** The public GraphQL address, for HTTP and WebSocket, of the first gateway. */
  url: string;
  /** That of every gateway. */
  gateways: string[];
  /** Somebody new, not signed in, with an address of their own. People take the gateways in turn, and each stays with theirs. */
  visitor(): Client;
  /** Somebody with a fresh account and tenant. */
  person(): Promise<Client>;
  /** `host:port`, or a base URL, of every replica of a unit. */
  addresses(unit: string, door: Door): string[];
  /** The rows of one service, for what no operation shows or puts there. It is closed with the mesh. */
  database(schema: SchemaDeclaration): Database;
  /** The mesh itself, where it is in this process. */
  local?: LocalMesh;
  /** Leaves it; one of this process ends. */
  stop(): Promise<void>;
}

/** Starts every unit in this process, in memory and on free ports. `env` goes before what tests otherwise want. */
export async function startMesh(env: Environment = {}): Promise<TestMesh> {
  if (runningMesh()) throw new Error('This story starts a mesh of its own where it is to take the running one');
  process.env.LOG_LEVEL ??= 'fatal'; // what a test provokes is no news; LOG_LEVEL=debug shows it
  const local = await localMesh(testEnvironment(env), { dataFolder: null, databaseSnapshot: databaseSnapshot() });
  await local.start();
  const { database, close } = databases((schema) => local.surroundings.database(schema));
  return {
    ...reachable(`${local.publicUrl()}/graphql`),
    addresses: (unit, door) => [local.surroundings.addresses.of(unit, door)],
    database,
    local,
    async stop() {
      await close();
      await local.stop();
    },
  };
}

/** The mesh that runs already, or else one in this process. `env` is what it must have been configured with. */
export async function openMesh(env: Environment = {}): Promise<TestMesh> {
  const running = runningMesh();
  if (!running) return startMesh(env);
  checkSettings(running, env);
  const { database, close } = databases((schema) => serviceDatabase(running.settings, schema, 2));
  const gateways = running.addresses('gateway', 'public').map((address) => `${address}/graphql`);
  return { ...reachable(...gateways), addresses: running.addresses, database, stop: close };
}

/** The ways to come to a mesh, by the public GraphQL addresses of its gateways. */
export function reachable(...gateways: string[]) {
  const [url = ''] = gateways;
  let visitors = 0;
  const visitor = () => new Client(gateways[visitors++ % gateways.length] ?? url);
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

/** Each opened once, and closed together. */
function databases(open: (schema: SchemaDeclaration) => Database) {
  const opened = new Map<string, Database>();
  return {
    database(schema: SchemaDeclaration): Database {
      const database = opened.get(schema.name) ?? open(schema);
      opened.set(schema.name, database);
      return database;
    },
    async close() {
      await Promise.all([...opened.values()].map((database) => database.close()));
    },
  };
}

/** One mesh for all tests of a file: opened by whichever asks first, left after the last. */
export function sharedMesh(
  test: TestFn,
  env: Environment | (() => Promise<Environment>) = {},
): () => Promise<TestMesh> {
  let opened: Promise<TestMesh> | undefined;
  test.after.always('the mesh stops', async () => (await opened)?.stop());
  return () => {
    opened ??= (async () => openMesh(typeof env === 'function' ? await env() : env))();
    return opened;
  };
}

/** Free ports, and clients that come through a proxy so that each has an address of its own. */
export function testEnvironment(env: Environment = {}): Environment {
  return { ...keys(), GATEWAY_PORT: '0', STORAGE_PORT: '0', TRUSTED_PROXIES: '127.0.0.1/32', ...env };
}

function keys(): Environment {
  const key = () => randomBytes(32).toString('base64');
  return { MESH_KEY: key(), OPERATOR_KEY: key(), SECRETS_KEYS: `k1:${key()}`, AVATAR_TOKEN_KEYS: `k1:${key()}` };
}

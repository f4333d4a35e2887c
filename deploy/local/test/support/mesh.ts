import { randomBytes } from 'node:crypto';
import type { Environment } from '@parley/chassis/config';
import { databaseSnapshot } from '@parley/chassis/testing/test-database';
import type { TestFn } from 'ava';
import { type LocalMesh, localMesh } from '../../src/mesh.ts';
import { Client } from './client.ts';

/** A whole mesh of a test's own. */
export interface TestMesh {
  /** The public GraphQL address, for HTTP and WebSocket. */
  url: string;
  /** Somebody new, not signed in, with an address of their own. */
  visitor(): Client;
  /** Somebody with a fresh account and tenant. */
  person(): Promise<Client>;
  local: LocalMesh;
  stop(): Promise<void>;
}

/** Starts every unit in this process, in memory and on free ports. `env` goes before what tests otherwise want. */
export async function startMesh(env: Environment = {}): Promise<TestMesh> {
  process.env.LOG_LEVEL ??= 'fatal'; // what a test provokes is no news; LOG_LEVEL=debug shows it
  const local = await localMesh(testEnvironment(env), { dataFolder: null, databaseSnapshot: databaseSnapshot() });
  await local.start();
  const url = `${local.publicUrl()}/graphql`;
  return { ...reachable(url), local, stop: () => local.stop() };
}

/** The two ways to come to a mesh. */
export function reachable(url: string) {
  const visitor = () => new Client(url);
  return {
    url,
    visitor,
    async person() {
      const client = visitor();
      await client.register();
      return client;
    },
  };
}

/** One mesh for all tests of a file: started by whichever asks first, stopped after the last. */
export function sharedMesh(
  test: TestFn,
  env: Environment | (() => Promise<Environment>) = {},
): () => Promise<TestMesh> {
  let started: Promise<TestMesh> | undefined;
  test.after.always('the mesh stops', async () => (await started)?.stop());
  return () => {
    started ??= (async () => startMesh(typeof env === 'function' ? await env() : env))();
    return started;
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

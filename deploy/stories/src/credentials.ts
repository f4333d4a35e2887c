import { randomBytes } from 'node:crypto';
import type { Environment } from '@parley/chassis/config';
import type { SharedDb, TenantDb } from '@parley/chassis/database/types';
import { createSessionTokens, type SessionTokenOptions } from '@parley/chassis/session-token';
import { gateway } from '@parley/gateway';
import { readGatewayConfig } from '@parley/gateway/config';
import { identitySchema } from '@parley/identity/schema';
import type { LocalMesh } from '@parley/local';
import { sessionSchema } from '@parley/session/schema';
import type { TestFn } from 'ava';
import { Client } from './client.ts';
import { reachable, sharedMesh, type TestMesh, testEnvironment } from './mesh.ts';
import { runningMesh } from './running-mesh.ts';

/** A mesh with two gateways whose keys the test knows, and with a way to put rows where no operation puts them yet. */
export interface CredentialMesh extends TestMesh {
  /** The second gateway's public address. */
  secondUrl: string;
  /** The same client at the second gateway. */
  atSecond(client: Client): Client;
  /** Somebody whose bearer is a token of this session. */
  withSessionToken(session: { tenantId: number; sessionId: number }, how?: SessionTokenOptions): Client;
  /** Works on identity's rows of people, and announces nothing. */
  people<T>(work: (db: SharedDb) => Promise<T>): Promise<T>;
  /** Works on session's rows of one tenant. */
  sessions<T>(tenantId: number, work: (db: TenantDb) => Promise<T>): Promise<T>;
  meshKey: Uint8Array;
}

/** One such mesh for all tests of a file. */
export function sharedCredentialMesh(test: TestFn): () => Promise<CredentialMesh> {
  const key = () => randomBytes(32).toString('base64');
  const { MESH_KEY = key(), AVATAR_TOKEN_KEYS = `t1:${key()}` } = runningMesh()?.settings ?? {};
  const env = { MESH_KEY, AVATAR_TOKEN_KEYS };
  const [keyId = '', tokenKey = ''] = AVATAR_TOKEN_KEYS.split(':');
  let stopSecond = async () => {};
  // Before the mesh itself: hooks run in the order in which they were given.
  test.after.always('the second gateway stops', () => stopSecond());
  const mesh = sharedMesh(test, env);
  let made: Promise<CredentialMesh> | undefined;

  /** The running mesh has one; in one process it is started beside the first. */
  async function secondGateway(first: TestMesh): Promise<string> {
    const [, second] = first.gateways;
    if (second !== undefined) return second;
    if (!first.local) throw new Error('The running mesh has one gateway, and these stories take two');
    const started = await startGateway(env, first.local);
    stopSecond = started.stop;
    return started.url;
  }

  async function make(): Promise<CredentialMesh> {
    const first = await mesh();
    const secondUrl = await secondGateway(first);
    return {
      ...first,
      ...reachable(first.url), // everybody comes to the first gateway, unless a story says otherwise
      secondUrl,
      meshKey: Buffer.from(MESH_KEY, 'base64'),
      atSecond: (client) => Object.assign(new Client(secondUrl), { tokens: client.tokens, account: client.account }),
      withSessionToken(session, how) {
        const key = { id: keyId, key: Buffer.from(tokenKey, 'base64') };
        const { token } = createSessionTokens([key], how).mint({ audience: 'session', ...session });
        const tokens = { accessToken: token, expiresIn: 0, refreshToken: '', refreshExpiresIn: 0 };
        return Object.assign(new Client(first.url), { tokens });
      },
      people: (work) => first.database(identitySchema).transactShared(work),
      sessions: (tenantId, work) => first.database(sessionSchema).transact(tenantId, work),
    };
  }

  return () => {
    made ??= make();
    return made;
  };
}

async function startGateway(env: Environment, { surroundings }: LocalMesh) {
  let url = '';
  const announce = (_unit: string, door: string, address: string) => {
    if (door === 'public') url = `${address}/graphql`;
  };
  const second = gateway(readGatewayConfig(testEnvironment(env)), {
    ...surroundings,
    addresses: { ...surroundings.addresses, announce },
  });
  await second.start();
  return { url, stop: () => second.stop() };
}

/** The tenant and the user that a client acts as. */
export async function idsOf(client: Client): Promise<{ tenantId: number; userId: number }> {
  const { myTenant, getAuthProfile } = await client.query<{ myTenant: { id: number }; getAuthProfile: { id: number } }>(
    '{ myTenant { id } getAuthProfile { id } }',
  );
  return { tenantId: myTenant.id, userId: getAuthProfile.id };
}

export const profile = '{ getAuthProfile { id } }';

/** How an operation is answered: `ok`, or the code of the refusal with its reason. */
export async function outcome(client: Client, query: string, variables: object = {}): Promise<string> {
  const { errors } = await client.send(query, variables);
  const [error] = errors ?? [];
  return error ? [error.extensions.code, error.extensions.reason].filter(Boolean).join(' ') : 'ok';
}

import { randomBytes } from 'node:crypto';
import type { Environment } from '@parley/chassis/config';
import type { Database, SchemaDeclaration, SharedDb, TenantDb } from '@parley/chassis/database/types';
import { createSessionTokens, type SessionTokenOptions } from '@parley/chassis/session-token';
import { gateway } from '@parley/gateway';
import { readGatewayConfig } from '@parley/gateway/config';
import { identitySchema } from '@parley/identity/schema';
import { sessionSchema } from '@parley/session/schema';
import type { TestFn } from 'ava';
import { Client } from './client.ts';
import { sharedMesh, type TestMesh } from './mesh.ts';

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
  const meshKey = randomBytes(32);
  const tokenKey = randomBytes(32);
  const env: Environment = {
    MESH_KEY: meshKey.toString('base64'),
    AVATAR_TOKEN_KEYS: `t1:${tokenKey.toString('base64')}`,
  };
  const toStop: (() => Promise<unknown>)[] = [];
  // Before the mesh itself: hooks run in the order in which they were given.
  test.after.always('the second gateway stops', async () => {
    for (const stop of toStop.splice(0)) await stop();
  });
  const mesh = sharedMesh(test, env);
  let made: Promise<CredentialMesh> | undefined;

  async function make(): Promise<CredentialMesh> {
    const first = await mesh();
    const { surroundings } = first.local;
    const database = (schema: SchemaDeclaration): Database => {
      const opened = surroundings.database(schema);
      toStop.push(() => opened.close());
      return opened;
    };
    const [people, sessions] = [database(identitySchema), database(sessionSchema)];

    let secondUrl = '';
    const announce = (_unit: string, door: string, address: string) => {
      if (door === 'public') secondUrl = `${address}/graphql`;
    };
    const config = readGatewayConfig({ ...env, GATEWAY_PORT: '0', TRUSTED_PROXIES: '127.0.0.1/32' });
    const second = gateway(config, { ...surroundings, addresses: { ...surroundings.addresses, announce } });
    await second.start();
    toStop.push(() => second.stop());

    return {
      ...first,
      secondUrl,
      meshKey,
      atSecond: (client) => Object.assign(new Client(secondUrl), { tokens: client.tokens, account: client.account }),
      withSessionToken(session, how) {
        const { token } = createSessionTokens([{ id: 't1', key: tokenKey }], how).mint({
          audience: 'session',
          ...session,
        });
        const tokens = { accessToken: token, expiresIn: 0, refreshToken: '', refreshExpiresIn: 0 };
        return Object.assign(first.visitor(), { tokens });
      },
      people: (work) => people.transactShared(work),
      sessions: (tenantId, work) => sessions.transact(tenantId, work),
    };
  }

  return () => {
    made ??= make();
    return made;
  };
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

import { identitySchema } from '@parley/identity/schema';
import { createSessionTokens, type SessionTokenOptions } from '@parley/kernel/secrets/session-token';
import type { SharedDb, TenantDb } from '@parley/postgres/database/types';
import { sessionSchema } from '@parley/session/schema';
import { Client } from './client.ts';
import { reachable, type TestMesh } from './mesh.ts';
import { codeOf } from './sockets.ts';

export type CredentialMesh = ReturnType<typeof withCredentials>;

/**
 * Returns a mesh with two gateways. The returned object also has the mesh's keys, and functions that read or change rows that no operation
 * writes.
 */
export function withCredentials(mesh: TestMesh) {
  const { settings, url, gateways, database, model } = mesh;
  const secondUrl = gateways[1];
  if (secondUrl === undefined) throw new Error('These stories need two gateways');
  const [id = '', key = ''] = settings['AVATAR_TOKEN_KEYS']?.split(':') ?? [];
  return {
    ...mesh,
    // Clients use the first gateway by default.
    ...reachable([url], model.port),
    secondUrl,
    meshKey: Buffer.from(settings['MESH_KEY'] ?? '', 'base64'),
    operatorKey: Buffer.from(settings['OPERATOR_KEY'] ?? '', 'base64'),
    /** Returns the same client at the second gateway. */
    atSecond: (client: Client) => client.at(secondUrl),
    /** Returns a client with a token of this session. */
    withSessionToken(session: { tenantId: number; sessionId: number }, how?: SessionTokenOptions): Client {
      const tokens = createSessionTokens([{ id, key: Buffer.from(key, 'base64') }], how);
      const { token } = tokens.mint({ audience: 'session', ...session });
      return Object.assign(new Client(url), {
        tokens: { accessToken: token, expiresIn: 0, refreshToken: '', refreshExpiresIn: 0 },
      });
    },
    /** Runs a transaction on identity's tables of users, without announcing the changes. */
    people: <T>(work: (db: SharedDb) => Promise<T>) => database(identitySchema).transactShared(work),
    /** Runs a transaction on the session service's rows of one tenant. */
    sessions: <T>(tenantId: number, work: (db: TenantDb) => Promise<T>) =>
      database(sessionSchema).transact(tenantId, work),
  };
}

/** Returns the ids of the client's tenant and user. */
export async function idsOf(client: Client): Promise<{ tenantId: number; userId: number }> {
  const { myTenant, getAuthProfile } = await client.query<{ myTenant: { id: number }; getAuthProfile: { id: number } }>(
    '{ myTenant { id } getAuthProfile { id } }',
  );
  return { tenantId: myTenant.id, userId: getAuthProfile.id };
}

export const profile = '{ getAuthProfile { id } }';

/** Sends an operation and returns its outcome: `ok`, or the error code with its reason. */
export async function outcome(client: Client, query: string, variables: object = {}): Promise<string> {
  const { errors } = await client.send(query, variables);
  return errors?.[0] ? codeOf(errors) : 'ok';
}

import type { SharedDb, TenantDb } from '@parley/chassis/database/types';
import { createSessionTokens, type SessionTokenOptions } from '@parley/chassis/session-token';
import { identitySchema } from '@parley/identity/schema';
import { sessionSchema } from '@parley/session/schema';
import { Client } from './client.ts';
import { reachable, type TestMesh } from './mesh.ts';

/** A mesh with two gateways whose keys are known, and with a way to put rows where no operation puts them yet. */
export interface CredentialMesh extends TestMesh {
  /** The second gateway's public address. People come to the first, unless a story says otherwise. */
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

/** What stories of credentials take beside the mesh itself. */
export function withCredentials(mesh: TestMesh): CredentialMesh {
  const { settings, url, database } = mesh;
  const secondUrl = mesh.gateways[1];
  if (secondUrl === undefined) throw new Error('These stories take two gateways');
  const [id = '', key = ''] = settings['AVATAR_TOKEN_KEYS']?.split(':') ?? [];
  return {
    ...mesh,
    ...reachable(url, Number(new URL(mesh.model.server.url).port)),
    secondUrl,
    meshKey: Buffer.from(settings['MESH_KEY'] ?? '', 'base64'),
    atSecond: (client) => client.at(secondUrl),
    withSessionToken(session, how) {
      const tokens = createSessionTokens([{ id, key: Buffer.from(key, 'base64') }], how);
      const { token } = tokens.mint({ audience: 'session', ...session });
      return Object.assign(new Client(url), {
        tokens: { accessToken: token, expiresIn: 0, refreshToken: '', refreshExpiresIn: 0 },
      });
    },
    people: (work) => database(identitySchema).transactShared(work),
    sessions: (tenantId, work) => database(sessionSchema).transact(tenantId, work),
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

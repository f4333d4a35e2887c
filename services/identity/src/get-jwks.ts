import type { JSONWebKeySet } from 'jose';
import type { Ports } from './ports.ts';
import { signingKeyStore } from './signing-key-store.ts';

/** The public keys that access tokens are verified with, retired ones included until their last token has ended. */
export async function getJwks({ database }: Ports): Promise<JSONWebKeySet> {
  return { keys: await database.transactShared((db) => signingKeyStore(db).listPublic()) };
}

import type { JSONWebKeySet } from 'jose';
import type { Ports } from '../ports.ts';
import { signingKeyStore } from './signing-key-store.ts';

/** Returns the public keys that verify access tokens, including retired keys until their last token has expired. */
export async function getJwks({ database }: Ports): Promise<JSONWebKeySet> {
  return { keys: await database.transactShared((db) => signingKeyStore(db).listPublic()) };
}

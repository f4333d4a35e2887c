import type { Caller } from '@parley/kernel/caller';
import type { Ports } from '../ports.ts';
import { type ListedSigningKey, signingKeyStore } from '../signing-key-store.ts';
import { operatorOf } from './operator.ts';

export async function listSigningKeys({ database }: Ports, caller: Caller): Promise<ListedSigningKey[]> {
  operatorOf(caller);
  return database.transactShared((db) => signingKeyStore(db).list());
}

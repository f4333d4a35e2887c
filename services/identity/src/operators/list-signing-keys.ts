import type { CallerRequest } from '@parley/kernel/caller-request';
import type { Ports } from '../ports.ts';
import { type ListedSigningKey, signingKeyStore } from '../signing-key-store.ts';
import { operatorOf } from './operator.ts';

export async function listSigningKeys({ database }: Ports, { caller }: CallerRequest): Promise<ListedSigningKey[]> {
  operatorOf(caller);
  return database.transactShared((db) => signingKeyStore(db).list());
}

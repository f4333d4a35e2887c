import type { CallerRequest } from '@parley/kernel/caller-request';
import { type ListedSigningKey, signingKeyStore } from '../keys/signing-key-store.ts';
import type { Ports } from '../ports.ts';
import { operatorOf } from './operator.ts';

export async function listSigningKeys({ database }: Ports, { caller }: CallerRequest): Promise<ListedSigningKey[]> {
  operatorOf(caller);
  return database.transactShared((db) => signingKeyStore(db).list());
}

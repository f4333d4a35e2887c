import type { CallerRequest } from '@parley/kernel/caller-request';
import { auditStore } from '../operators/audit-store.ts';
import { operatorOf } from '../operators/operator.ts';
import type { Ports } from '../ports.ts';
import { type ListedSigningKey, signingKeyStore } from './signing-key-store.ts';

export async function rotateSigningKey(
  { database, keys, settings }: Ports,
  { caller }: CallerRequest,
): Promise<ListedSigningKey> {
  const operator = operatorOf(caller);
  return database.transactShared(async (db) => {
    const kid = await keys.rotate(db, settings.accessTokenTtlS);
    await auditStore(db).insert({ operator, requestId: caller.requestId, action: 'rotate-key', facts: { kid } });
    return signingKeyStore(db).get(kid);
  });
}

import { DomainError } from '@parley/kernel/errors';
import { type ApiKeyOwner, apiKeyStore } from './api-key-store.ts';
import type { Ports } from './ports.ts';

export async function resolveApiKey({ database }: Ports, keySha256: Uint8Array): Promise<ApiKeyOwner> {
  const owner = await database.transactShared((db) => apiKeyStore(db).findOwner(Buffer.from(keySha256)));
  if (!owner) throw new DomainError('notFound', 'API key not found');
  return owner;
}

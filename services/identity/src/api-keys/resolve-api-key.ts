import { badRequest, DomainError } from '@parley/kernel/errors';
import type { Ports } from '../ports.ts';
import { type ApiKeyOwner, apiKeyOwners, type ResolvedApiKey } from './api-key-store.ts';

const maxKeys = 500;

export async function resolveApiKey(ports: Ports, keySha256: Uint8Array): Promise<ApiKeyOwner> {
  const [found] = await resolveApiKeys(ports, [keySha256]);
  if (!found) throw new DomainError('notFound', 'API key not found');
  const { keySha256: _, ...owner } = found;
  return owner;
}

/** Returns the owners of API keys. Omits keys that are unknown or revoked, or whose tenant is deleted. */
export async function resolveApiKeys({ database }: Ports, keysSha256: Uint8Array[]): Promise<ResolvedApiKey[]> {
  if (keysSha256.length > maxKeys) throw badRequest(`Ask for at most ${maxKeys} API keys at once`);
  return database.readShared((db) =>
    apiKeyOwners(
      db,
      keysSha256.map((key) => Buffer.from(key)),
    ),
  );
}

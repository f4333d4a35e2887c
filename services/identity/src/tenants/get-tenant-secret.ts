import type { TenantRequest } from '@parley/kernel/caller-request';
import { forbidden, notFound } from '@parley/kernel/errors';
import { tenantSecretStore } from '../operators/tenant-secret-store.ts';
import { isSecretName, secretSealingContext } from '../operators/tenant-secrets.ts';
import type { Ports } from '../ports.ts';

/** Reports whether the tenant has a secret with this name. Returns false if the name is invalid. */
export async function hasTenantSecret(
  { database }: Pick<Ports, 'database'>,
  { caller }: TenantRequest,
  name: string,
): Promise<boolean> {
  if (!isSecretName(name)) return false;
  return database.transact(caller.tenantId, (db) => tenantSecretStore(db).has(name));
}

/**
 * Returns the current value of a secret. Only the session service, which signs with it, may call this, and only in its own name: a request
 * that another service forwards for a user is refused.
 * @throws DomainError `forbidden` if the caller is not the session service in its own name
 * @throws DomainError `notFound` if the tenant has no such secret
 */
export async function getTenantSecret(
  { database, box }: Pick<Ports, 'database' | 'box'>,
  { caller: { kind, service, tenantId } }: TenantRequest,
  name: string,
): Promise<string> {
  if (kind !== 'service' || service !== 'session') throw forbidden('Only session reads secrets of tenants');
  const sealed = isSecretName(name)
    ? await database.transact(tenantId, (db) => tenantSecretStore(db).findSealed(name))
    : undefined;
  if (!sealed) throw notFound('Secret', name);
  return box.open(sealed, secretSealingContext(tenantId, name)).toString();
}

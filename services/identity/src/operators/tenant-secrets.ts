import type { CallerRequest } from '@parley/kernel/caller-request';
import { notFound } from '@parley/kernel/errors';
import { parseInput, rule, text } from '@parley/kernel/input';
import type { PutTenantSecretRequest, RemoveTenantSecretRequest } from '@parley/protos/parley/identity/v1/admin';
import { z } from 'zod';
import type { Ports } from '../ports.ts';
import { changeTenant } from './audited-change.ts';
import { directoryStore } from './directory-store.ts';
import { operatorOf } from './operator.ts';
import { type ListedSecret, tenantSecretStore } from './tenant-secret-store.ts';

/** Reports whether a secret may have this name. */
export const isSecretName = (name: string): boolean => /^[a-z][\w.-]{0,99}$/iu.test(name);
const secret = z.object({
  tenantId: z.int32(),
  name: z
    .string()
    .check(rule((name) => (isSecretName(name) ? undefined : 'must be a letter and up to 99 of A-Z a-z 0-9 _ . -'))),
  value: text(65_536),
});

/** Lists a tenant's secrets in the order of their names, without their values. */
export async function listTenantSecrets(
  { database }: Ports,
  { caller }: CallerRequest,
  { tenantId }: { tenantId: number },
): Promise<ListedSecret[]> {
  operatorOf(caller);
  return database.transactShared(async (db) => {
    await directoryStore(db).getTenant(tenantId);
    return db.asTenant(tenantId, (own) => tenantSecretStore(own).list());
  });
}

/**
 * Stores a secret, encrypted for its tenant and name.
 * @throws DomainError `invalid` if the name or the value is malformed
 * @throws DomainError `notFound` if the tenant does not exist
 */
export async function putTenantSecret(
  ports: Ports,
  request: CallerRequest,
  input: PutTenantSecretRequest,
): Promise<void> {
  operatorOf(request.caller);
  const { tenantId, name, value } = parseInput(secret, input, '');
  const sealed = ports.box.seal(value, secretSealingContext(tenantId, name));
  await changeTenant(ports, request, { action: 'set-secret', tenantId }, (db) =>
    db.asTenant(tenantId, async (own) => {
      const replaced = await tenantSecretStore(own).has(name);
      await tenantSecretStore(own).put(name, sealed);
      return { name, replaced };
    }),
  );
}

/** @throws DomainError `notFound` if the tenant or the secret does not exist */
export async function removeTenantSecret(
  ports: Ports,
  request: CallerRequest,
  { tenantId, name }: RemoveTenantSecretRequest,
): Promise<void> {
  await changeTenant(ports, request, { action: 'remove-secret', tenantId }, (db) =>
    db.asTenant(tenantId, async (own) => {
      if (!(isSecretName(name) && (await tenantSecretStore(own).remove(name)))) throw notFound('Secret', name);
      return { name };
    }),
  );
}

export function secretSealingContext(tenantId: number, name: string): string {
  return `identity.tenant_secrets.value:${tenantId}:${name}`;
}

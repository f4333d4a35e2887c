import { inTenant, serviceCaller } from '@parley/kernel/caller';
import type { CallerRequest } from '@parley/kernel/caller-request';
import { notFound } from '@parley/kernel/errors';
import { parseId } from '@parley/kernel/row-id';
import { findTenant } from '@parley/service/tenant-facts';
import type { Ports } from '../ports.ts';
import { operatorOf } from './operator-audit.ts';

/**
 * Checks that the caller is an operator and that the tenant exists. Call it before showing or changing a tenant's data.
 * @throws DomainError `forbidden` if the caller is not an operator
 * @throws DomainError `notFound` if there is no such tenant
 */
export async function knownTenant(
  { identity }: Pick<Ports, 'identity'>,
  { caller, signal }: CallerRequest,
  tenantId: number,
): Promise<void> {
  operatorOf(caller);
  const asker = inTenant(serviceCaller('action', tenantId, caller.requestId));
  const tenant = parseId(tenantId) === undefined ? undefined : await findTenant(identity, asker, signal);
  if (!tenant) throw notFound('Tenant', tenantId);
}

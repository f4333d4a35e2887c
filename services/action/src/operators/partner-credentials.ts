import type { CallerRequest } from '@parley/kernel/caller-request';
import { notFound } from '@parley/kernel/errors';
import { parseInput } from '@parley/kernel/input';
import type {
  PutPartnerCredentialRequest,
  RemovePartnerCredentialRequest,
} from '@parley/protos/parley/action/v1/admin';
import { z } from 'zod';
import {
  type PartnerCredential,
  partnerCredentialStore,
  partnerTokenPlace,
} from '../actions/partner-credential-store.ts';
import { type PartnerSource, partnerSources } from '../custom-actions/custom-action.ts';
import { headerSecret } from '../header-secret.ts';
import { holdTenant } from '../hold-tenant.ts';
import type { Ports } from '../ports.ts';
import { noteSealing } from '../sealing-tenant-store.ts';
import { knownTenant } from './known-tenant.ts';
import { audit } from './operator-audit.ts';

export const partner = z.enum(partnerSources, `must be one of ${partnerSources.join(', ')}`) as z.ZodType<
  PartnerSource,
  string
>;
const credential = z.object({ tenantId: z.int32(), partner, value: headerSecret(4_096) });

/** Lists a tenant's partner credentials by partner, without their values. @throws DomainError `notFound` if the tenant does not exist */
export async function listPartnerCredentials(
  ports: Ports,
  request: CallerRequest,
  { tenantId }: { tenantId: number },
): Promise<PartnerCredential[]> {
  await knownTenant(ports, request, tenantId);
  return ports.database.read(tenantId, (db) => partnerCredentialStore(db).list());
}

/**
 * Stores a partner credential, sealed for its tenant and partner. @throws DomainError `invalid` with every problem; `notFound` if the
 * tenant does not exist; `forbidden` if the caller is not an operator, or the tenant is deleted meanwhile
 */
export async function putPartnerCredential(
  ports: Ports,
  request: CallerRequest,
  input: PutPartnerCredentialRequest,
): Promise<void> {
  await knownTenant(ports, request, input.tenantId);
  const { tenantId, partner: product, value } = parseInput(credential, input, '');
  const sealed = ports.box.seal(value, partnerTokenPlace({ tenantId, product }));
  await ports.database.transact(tenantId, async (db) => {
    await holdTenant(db);
    await noteSealing(db);
    const replaced = await partnerCredentialStore(db).put(product, sealed);
    await audit(db, request.caller, { action: 'set-partner', facts: { partner: product, replaced } });
  });
}

/** Deletes a partner credential. @throws DomainError `notFound` if the tenant or the credential does not exist */
export async function removePartnerCredential(
  ports: Ports,
  request: CallerRequest,
  { tenantId, partner: product }: RemovePartnerCredentialRequest,
): Promise<void> {
  await knownTenant(ports, request, tenantId);
  await ports.database.transact(tenantId, async (db) => {
    if (!(await partnerCredentialStore(db).remove(product))) throw notFound('Credential', product);
    await audit(db, request.caller, { action: 'remove-partner', facts: { partner: product } });
  });
}

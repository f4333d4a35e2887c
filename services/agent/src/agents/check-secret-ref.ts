import type { TenantRequest } from '@parley/kernel/caller-request';
import { invalid } from '@parley/kernel/errors';
import type { Ports } from '../ports.ts';

/**
 * Checks a reference to a secret.
 * @throws DomainError `invalid`: the tenant has no secret with this name
 * @throws DomainError `unavailable`: the identity service cannot be reached
 */
export async function checkSecretRef(
  { identity }: Pick<Ports, 'identity'>,
  { caller, signal }: TenantRequest,
  name: string | null | undefined,
): Promise<void> {
  if (name == null) return;
  const { exists } = await identity.hasTenantSecret({ name }, { caller, signal });
  if (exists) return;
  const message = 'names no secret that was provisioned for this tenant';
  throw invalid({ path: 'input.externalSyncSecretRef', message });
}

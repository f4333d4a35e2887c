import type { TenantCaller } from '@parley/kernel/caller';
import { isDomainError } from '@parley/kernel/errors';
import type { GetTenantResponse } from '@parley/protos/parley/identity/v1/identity';
import type { Ports } from './ports.ts';

/** The tenant of a job; undefined where it is gone. */
export async function findTenant(
  { identity }: Pick<Ports, 'identity'>,
  caller: TenantCaller,
  signal: AbortSignal,
): Promise<GetTenantResponse | undefined> {
  try {
    const { tenantId } = caller;
    const tenant = await identity.getTenant({ tenantId }, { caller, signal, expectedErrors: ['notFound'] });
    return tenant.deleted ? undefined : tenant;
  } catch (error) {
    if (isDomainError(error, 'notFound')) return undefined;
    throw error;
  }
}

import { inNoTenant, type TenantCaller } from '@parley/kernel/caller';
import { forbidden, unavailable } from '@parley/kernel/errors';
import type { GetTenantResponse, IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import type { RpcClient } from '@parley/rpc/client';
import { tenantFact } from '@parley/service/tenant-facts';

export interface Quotas {
  knowledgeBases: number;
  chunks: number;
  storageBytes: number;
}

/**
 * Returns the tenant's quotas.
 * @throws DomainError `unavailable` if the identity service does not respond, because no default plan is assumed
 * @throws DomainError `forbidden` with `TENANT_SUSPENDED` if the tenant is suspended, or with `NO_TENANT` if it is deleted
 */
export type TenantQuotas = (caller: TenantCaller) => Promise<Quotas>;

export const bytesPerMb = 2 ** 20;

/** Caches quotas for a second. Failures are not cached. */
export function tenantQuotas(
  identity: Pick<RpcClient<IdentityServiceDefinition>, 'getTenant'>,
  nowMs?: () => number,
): TenantQuotas {
  return tenantFact(identity, { read: quotasOf, keepMs: 1_000, nowMs });
}

function quotasOf({ quotas, suspended, deleted }: GetTenantResponse): Quotas {
  if (deleted) throw inNoTenant();
  if (suspended) throw forbidden('The tenant is suspended', 'TENANT_SUSPENDED');
  if (!quotas) throw unavailable("The tenant's quotas are not known yet");
  const { knowledgeBases, chunks, storageMb } = quotas;
  return { knowledgeBases, chunks, storageBytes: storageMb * bytesPerMb };
}

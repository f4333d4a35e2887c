import type { TenantCaller } from '@parley/kernel/caller';
import { forbidden, unavailable } from '@parley/kernel/errors';
import { gradualSweep } from '@parley/kernel/gradual-sweep';
import type { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import type { RpcClient } from '@parley/rpc/client';

export interface Quotas {
  knowledgeBases: number;
  chunks: number;
  storageBytes: number;
}

/** @throws DomainError `unavailable` when identity does not answer: no plan is assumed; `forbidden`: `TENANT_SUSPENDED`, `NO_TENANT` once it is deleted */
export type TenantQuotas = (caller: TenantCaller) => Promise<Quotas>;

interface CacheEntry {
  quotas: Promise<Quotas>;
  askedAtMs: number;
}

export const bytesPerMb = 2 ** 20;

const cacheTtlMs = 1_000;

/** Asks identity at most once per second and tenant. Failures are not kept. */
export function tenantQuotas(
  identity: Pick<RpcClient<IdentityServiceDefinition>, 'getTenant'>,
  nowMs: () => number = () => performance.now(),
): TenantQuotas {
  const cache = new Map<number, CacheEntry>();
  const isExpired = ({ askedAtMs }: CacheEntry) => nowMs() - askedAtMs >= cacheTtlMs;
  const sweep = gradualSweep(cache, isExpired);

  async function ask(caller: TenantCaller): Promise<Quotas> {
    const { tenantId } = caller;
    const { quotas, suspended, deleted } = await identity.getTenant({ tenantId }, { caller });
    if (deleted) throw forbidden('You belong to no tenant yet; create or choose one', 'NO_TENANT');
    if (suspended) throw forbidden('The tenant is suspended', 'TENANT_SUSPENDED');
    if (!quotas) throw unavailable("The tenant's quotas are not known yet");
    const { knowledgeBases, chunks, storageMb } = quotas;
    return { knowledgeBases, chunks, storageBytes: storageMb * bytesPerMb };
  }

  return (caller) => {
    const { tenantId } = caller;
    const kept = cache.get(tenantId);
    if (kept && !isExpired(kept)) return kept.quotas;
    sweep();
    const quotas = ask(caller);
    const entry = { quotas, askedAtMs: nowMs() };
    cache.set(tenantId, entry);
    quotas.catch(() => {
      if (cache.get(tenantId) === entry) cache.delete(tenantId);
    });
    return quotas;
  };
}

import type { TenantCaller } from '@parley/kernel/caller';
import type { Logger } from '@parley/kernel/log';
import type { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import type { RpcClient } from '@parley/rpc/client';

/** The tenant's default model for agents without an override; empty strings: none. */
export interface TenantOverride {
  provider: string;
  model: string;
}

/** Looks up a tenant's override. Never rejects, because a turn must not fail for it. */
export type TenantOverrides = (caller: TenantCaller) => Promise<TenantOverride>;

interface CacheEntry {
  override: TenantOverride;
  readAtMs: number;
}

const none: TenantOverride = { provider: '', model: '' };
const cacheTtlMs = 5_000;
const identityTimeoutMs = 1_000;
const maxTenants = 10_000;

/** Asks identity at most once per `cacheTtlMs` and tenant. If it fails or is slow, the last known override is used, or none. */
export function tenantOverrides(
  identity: Pick<RpcClient<typeof IdentityServiceDefinition>, 'getTenant'>,
  log: Logger,
  nowMs: () => number = () => performance.now(),
): TenantOverrides {
  const cache = new Map<number, CacheEntry>();
  const pending = new Map<number, Promise<TenantOverride>>();

  function remember(tenantId: number, override: TenantOverride): TenantOverride {
    cache.delete(tenantId); // moves the entry to the end, because the first one is evicted
    cache.set(tenantId, { override, readAtMs: nowMs() });
    const [oldest] = cache.keys();
    if (cache.size > maxTenants && oldest !== undefined) cache.delete(oldest);
    return override;
  }

  async function ask(caller: TenantCaller): Promise<TenantOverride> {
    const { tenantId } = caller;
    try {
      const tenant = await identity.getTenant({ tenantId }, { caller, timeoutMs: identityTimeoutMs });
      return remember(tenantId, { provider: tenant.llmProviderOverride, model: tenant.llmModelOverride });
    } catch (error) {
      log.warn({ err: error, tenantId }, 'tenant override lookup failed; using last known');
      // Cached as well, so that not every turn waits for an unavailable identity.
      return remember(tenantId, cache.get(tenantId)?.override ?? none);
    } finally {
      pending.delete(tenantId);
    }
  }

  return async (caller) => {
    const last = cache.get(caller.tenantId);
    if (last && nowMs() - last.readAtMs < cacheTtlMs) return last.override;
    const running = pending.get(caller.tenantId) ?? ask(caller);
    pending.set(caller.tenantId, running);
    return running;
  };
}

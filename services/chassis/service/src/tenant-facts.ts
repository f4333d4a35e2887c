import type { TenantCaller } from '@parley/kernel/caller';
import { isDomainError } from '@parley/kernel/errors';
import type { GetTenantResponse, IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import type { RpcClient } from '@parley/rpc/client';

type Identity = Pick<RpcClient<IdentityServiceDefinition>, 'getTenant'>;

/** Reads the caller's tenant from identity, without a cache; undefined if the tenant was deleted. */
export async function findTenant(
  identity: Identity,
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

export interface TenantFactOptions<Fact> {
  /** Picks the part of the tenant to cache. Errors are not cached. */
  read(tenant: GetTenantResponse): Fact;
  keepMs: number;
  /** Timeout in ms. Default: the timeout of gRPC calls. */
  timeoutMs?: number | undefined;
  /**
   * Returns a fallback when identity cannot be reached; the fallback is cached as long as a fact from identity. Default: the call rejects,
   * and the next call tries again.
   */
  fallBack?(error: unknown, tenantId: number, lastKnown: Fact | undefined): Fact;
  nowMs?: (() => number) | undefined;
}

interface Entry<Fact> {
  fact: Promise<Fact>;
  askedAtMs: number;
  lastKnown: Fact | undefined;
}

const maxTenants = 10_000;

/** Caches a fact of the caller's tenant; identity is called at most once per `keepMs` and tenant. */
export function tenantFact<Fact>(
  identity: Identity,
  { read, keepMs, timeoutMs, fallBack, nowMs = () => performance.now() }: TenantFactOptions<Fact>,
): (caller: TenantCaller) => Promise<Fact> {
  const cache = new Map<number, Entry<Fact>>();

  async function ask(caller: TenantCaller, lastKnown: Fact | undefined): Promise<Fact> {
    const { tenantId } = caller;
    try {
      return read(await identity.getTenant({ tenantId }, { caller, ...(timeoutMs !== undefined && { timeoutMs }) }));
    } catch (error) {
      if (!fallBack) throw error;
      return fallBack(error, tenantId, lastKnown);
    }
  }

  function remember(tenantId: number, entry: Entry<Fact>): void {
    cache.delete(tenantId); // moves the entry to the end, because the first entry is evicted
    cache.set(tenantId, entry);
    const [oldest] = cache.keys();
    if (cache.size > maxTenants && oldest !== undefined) cache.delete(oldest);
    void settled(tenantId, entry);
  }

  async function settled(tenantId: number, entry: Entry<Fact>): Promise<void> {
    try {
      entry.lastKnown = await entry.fact;
    } catch {
      if (cache.get(tenantId) === entry) cache.delete(tenantId);
    }
  }

  return (caller) => {
    const { tenantId } = caller;
    const kept = cache.get(tenantId);
    if (kept && nowMs() - kept.askedAtMs < keepMs) return kept.fact;
    const fact = ask(caller, kept?.lastKnown);
    remember(tenantId, { fact, askedAtMs: nowMs(), lastKnown: kept?.lastKnown });
    return fact;
  };
}

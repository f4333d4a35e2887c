import type { TenantCaller } from '@parley/kernel/caller';
import type { Logger } from '@parley/kernel/log';
import type { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import type { RpcClient } from '@parley/rpc/client';

/** The model that a tenant wants where an agent says nothing; empty strings: none. */
export interface TenantOverride {
  provider: string;
  model: string;
}

/** Tells tenants' overrides. Never fails: an override is a wish, and a turn must not end for not knowing it. */
export type TenantOverrides = (caller: TenantCaller) => Promise<TenantOverride>;

interface Known {
  override: TenantOverride;
  readAtMs: number;
}

const none: TenantOverride = { provider: '', model: '' };
const freshMs = 5_000;
const identityTimeoutMs = 1_000;
const maxTenants = 10_000;

/**
 * Asks identity, at most every 5 s a tenant. Where identity does not answer within 1 s, what it said last holds, else there is
 * no override and the platform's default answers.
 */
export function tenantOverrides(
  identity: Pick<RpcClient<typeof IdentityServiceDefinition>, 'getTenant'>,
  log: Logger,
  nowMs: () => number = () => performance.now(),
): TenantOverrides {
  const known = new Map<number, Known>();
  const asking = new Map<number, Promise<TenantOverride>>();

  function remember(tenantId: number, override: TenantOverride): TenantOverride {
    known.delete(tenantId); // to the end of the map: the longest unread goes first
    known.set(tenantId, { override, readAtMs: nowMs() });
    const [oldest] = known.keys();
    if (known.size > maxTenants && oldest !== undefined) known.delete(oldest);
    return override;
  }

  async function ask(caller: TenantCaller): Promise<TenantOverride> {
    const { tenantId } = caller;
    try {
      const tenant = await identity.getTenant({ tenantId }, { caller, timeoutMs: identityTimeoutMs });
      return remember(tenantId, { provider: tenant.llmProviderOverride, model: tenant.llmModelOverride });
    } catch (error) {
      log.warn({ err: error, tenantId }, 'what model a tenant wants is not known now');
      // Remembered as well, so that not every turn waits for an identity that does not answer.
      return remember(tenantId, known.get(tenantId)?.override ?? none);
    } finally {
      asking.delete(tenantId);
    }
  }

  return async (caller) => {
    const last = known.get(caller.tenantId);
    if (last && nowMs() - last.readAtMs < freshMs) return last.override;
    const running = asking.get(caller.tenantId) ?? ask(caller);
    asking.set(caller.tenantId, running);
    return running;
  };
}

import type { TenantCaller } from '@parley/kernel/caller';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import type { RpcClient } from '@parley/rpc/client';
import { tenantFact } from '@parley/service/tenant-facts';

/** The tenant's default model for agents without an override. Empty strings mean none. */
export interface TenantOverride {
  provider: string;
  model: string;
}

/** Looks up a tenant's override. Never rejects, so that a failed lookup does not fail a turn. */
export type TenantOverrides = (caller: TenantCaller) => Promise<TenantOverride>;

const none: TenantOverride = { provider: '', model: '' };

/**
 * Caches overrides for five seconds. If identity fails or is slow, the last known override is used; if none is known, no override is used.
 */
export function tenantOverrides(
  identity: Pick<RpcClient<typeof IdentityServiceDefinition>, 'getTenant'>,
  log: Logger,
  nowMs?: () => number,
): TenantOverrides {
  return tenantFact(identity, {
    read: ({ llmProviderOverride, llmModelOverride }) => ({ provider: llmProviderOverride, model: llmModelOverride }),
    keepMs: 5_000,
    timeoutMs: 1_000,
    fallBack(error, tenantId, lastKnown = none) {
      log.warn({ err: error, tenantId }, 'tenant override lookup failed; using last known');
      return lastKnown;
    },
    nowMs,
  });
}

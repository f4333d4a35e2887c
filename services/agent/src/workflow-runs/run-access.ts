import { inNoTenant, type TenantCaller } from '@parley/kernel/caller';
import { forbidden, isDomainError, unauthenticated } from '@parley/kernel/errors';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import type { RpcClient } from '@parley/rpc/client';
import { tenantFact } from '@parley/service/tenant-facts';
import { LRUCache } from 'lru-cache';

type Identity = Pick<RpcClient<IdentityServiceDefinition>, 'getTenant' | 'resolveSignIn'>;

export interface RunAccess {
  /**
   * Refuses turns of a deleted tenant. Turns of a suspended tenant may finish.
   * @throws DomainError `forbidden` if the tenant is deleted
   */
  ofTurn(caller: TenantCaller): Promise<void>;
  /**
   * Refuses tasks of a caller whom the gateway would refuse now.
   * @throws DomainError `unauthenticated` or `forbidden`, as the gateway would
   */
  ofTask(caller: TenantCaller): Promise<void>;
}

export interface RunAccessOptions {
  keepMs: number;
  log: Pick<Logger, 'warn'>;
}

interface TenantAccess {
  isDeleted: boolean;
  isSuspended: boolean;
  /** 0 if the caller has no API key; undefined if unknown. */
  apiKeyId: number | undefined;
}

const timeoutMs = 1_000;
const maxSignIns = 10_000;

/**
 * Checks whether the caller of a run may still continue. Sends at most one request per `keepMs` to identity for each
 * tenant or sign-in. While identity is unavailable, the last known status applies.
 */
export function runAccess(identity: Identity, { keepMs, log }: RunAccessOptions): RunAccess {
  const tenantOf = tenantFact<TenantAccess>(identity, {
    read: ({ deleted, suspended, apiKeyId }) => ({ isDeleted: deleted, isSuspended: suspended, apiKeyId }),
    keepMs,
    timeoutMs,
    fallBack(error, tenantId, lastKnown) {
      if (isDomainError(error, 'notFound')) return { isDeleted: true, isSuspended: false, apiKeyId: 0 };
      log.warn({ err: error, tenantId }, 'access of a run not checked; going on');
      return lastKnown ?? { isDeleted: false, isSuspended: false, apiKeyId: undefined };
    },
  });
  const signIns = new LRUCache<string, Promise<boolean>>({ max: maxSignIns, ttl: keepMs });

  async function isSignedIn({ tenantId, ...caller }: TenantCaller, signInId: string): Promise<boolean> {
    try {
      const options = { caller: { ...caller, tenantId }, timeoutMs, expectedErrors: ['notFound' as const] };
      const { userSuspended } = await identity.resolveSignIn({ signInId }, options);
      return !userSuspended;
    } catch (error) {
      if (isDomainError(error, 'notFound')) return false;
      log.warn({ err: error, tenantId }, 'access of a run not checked; going on');
      return true;
    }
  }

  function keptSignIn(caller: TenantCaller, signInId: string): Promise<boolean> {
    const kept = signIns.get(signInId) ?? isSignedIn(caller, signInId);
    if (!signIns.has(signInId)) signIns.set(signInId, kept);
    return kept;
  }

  return {
    async ofTurn(caller) {
      if ((await tenantOf(caller)).isDeleted) throw forbidden('The tenant was deleted', 'TENANT_DELETED');
    },
    async ofTask(caller) {
      const { isDeleted, isSuspended, apiKeyId } = await tenantOf(caller);
      const { kind, signInId } = caller;
      if (kind === 'apiKey' && apiKeyId !== undefined && apiKeyId !== caller.apiKeyId)
        throw unauthenticated('The API key was revoked');
      if (isDeleted) throw inNoTenant();
      if (isSuspended) throw forbidden('This tenant is suspended', 'TENANT_SUSPENDED');
      if (kind === 'user' && signInId !== undefined && !(await keptSignIn(caller, signInId))) throw unauthenticated();
    },
  };
}

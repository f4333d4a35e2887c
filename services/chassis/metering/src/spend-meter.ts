import { serviceCaller } from '@parley/kernel/caller';
import { DomainError, isDomainError, unavailable } from '@parley/kernel/errors';
import type { Part } from '@parley/kernel/processes/unit';
import { inBatches, inBatchesOfKey } from '@parley/kernel/queues/in-batches';
import type { Logger } from '@parley/kernel/telemetry/log';
import { backoff } from '@parley/kernel/timing/backoff';
import { sleep, within } from '@parley/kernel/timing/timers';
import type { Ledger, SpendChange, SpendSettlement, Spent } from './ledger.ts';

/** Used instead of a tenant id: no tenant is charged, and only the platform's ceiling bounds the call. */
export const platform = 0;

export interface CallAccount {
  /** The charged tenant, or `platform`. */
  tenantId: number;
  requestId: string;
  callId: string;
  operation: string;
  /** True if the call was made outside a session. */
  isDirect?: boolean;
  apiKeyId?: number | undefined;
  agentId?: number | undefined;
  sessionId?: number | undefined;
}

export interface MeteredCall {
  /**
   * Admits the call.
   * @param begins whether the provider is called at once; otherwise call `begin` before the provider is called.
   * @throws DomainError `invalid` (`SPEND_CAP_REACHED`) if the tenant's cap is reached
   * @throws DomainError `forbidden` (`TENANT_DELETED`) if the tenant was deleted
   * @throws DomainError `unavailable` if the call cannot be admitted now, with reason `PLATFORM_CEILING_REACHED` if the platform's ceiling
   * is reached
   */
  reserve(estimate: Spent, begins: boolean): Promise<void>;
  /** @throws DomainError `unavailable` when the reservation has ended; then do not call the provider. */
  begin(): Promise<void>;
  /** Records the cost of the call. Resolves when the cost is stored, or after a second; then storing continues in the background. */
  settle(spent: Spent & { estimated: boolean; served: boolean }): Promise<void>;
}

export interface SpendMeter extends Part {
  open(account: CallAccount): MeteredCall;
  renewNow(): Promise<void>;
}

export interface SpendMeterOptions {
  /** The unit that makes the calls. */
  unit: string;
  ledger: Ledger;
  log: Logger;
}

const usualLeaseMs = 30_000;
const maxRenewed = 1_000;
const renewersAtOnce = 20;
const answerWaitMs = 1_000;
const flushMs = 5_000;
const pauseAfter = backoff({ firstMs: 100, maxMs: 5_000 });
/** Timeout in ms of a batch with changes of several tenants, because the changes of a batch wait for each other. */
const togetherMs = 1_000;

const batches = {
  name: 'spend of several calls',
  atOnce: 2,
  size: 200,
  partyOf: ({ tenantId }: SpendChange) => tenantId,
};

const aloneBatches = { name: 'settlements of a tenant', atOnce: 1, size: 200 };

type Outcome = 'made' | 'unmade' | 'unknown';

/**
 * Meters model calls in the ledger of the identity service: renews the leases of running calls and settles finished ones, in batches by
 * tenant.
 */
export function spendMeter({ unit, ledger, log }: SpendMeterOptions): SpendMeter {
  const underWay = new Map<number, Set<string>>();
  const unsettled = new Set<Promise<void>>();
  let leaseMs = usualLeaseMs;
  const stopped = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let renewing: Promise<unknown> | undefined;

  const callerOf = (tenantId: number, requestId: string) => serviceCaller(unit, tenantId, requestId);

  function track(tenantId: number, callId: string): void {
    const calls = underWay.get(tenantId) ?? new Set();
    underWay.set(tenantId, calls.add(callId));
  }

  function forget(tenantId: number, callId: string): void {
    const calls = underWay.get(tenantId);
    calls?.delete(callId);
    if (calls?.size === 0) underWay.delete(tenantId);
  }

  async function renewTenant(tenantId: number, calls: ReadonlySet<string>): Promise<void> {
    const all = [...calls];
    for (let from = 0; from < all.length; from += maxRenewed) {
      const callIds = all.slice(from, from + maxRenewed);
      try {
        await ledger.renewSpend({ callIds }, { caller: callerOf(tenantId, `renewal-${tenantId}`) });
      } catch (error) {
        log.warn({ err: error, tenantId }, 'spend renewal failed; will retry');
      }
    }
  }

  /** Renews the leases of several tenants at once, so that a slow tenant does not delay the others for long. */
  async function renewNow(): Promise<void> {
    const tenants = [...underWay].values();
    const renewer = async () => {
      for (const [tenantId, calls] of tenants) await renewTenant(tenantId, calls);
    };
    renewing ??= Promise.all(Array.from({ length: renewersAtOnce }, renewer)).finally(() => {
      renewing = undefined;
    });
    await renewing;
  }

  function renewLater(): void {
    clearTimeout(timer);
    timer = setTimeout(() => {
      renewLater();
      void renewNow();
    }, leaseMs / 3).unref();
  }

  function setLease(ms: number): void {
    if (ms === leaseMs) return;
    leaseMs = ms;
    renewLater();
  }

  /** Stores settlements in batches, each for one tenant, and retries until they are stored. */
  const settleAlone = inBatchesOfKey(aloneBatches, async (tenantId: number, settlements: SpendSettlement[]) => {
    const callIds = settlements.map(({ call }) => call.callId);
    for (let failures = 1; !stopped.signal.aborted; failures += 1) {
      try {
        await ledger.settleSpend({ settlements }, { caller: callerOf(tenantId, `settlement-${tenantId}`) });
        break;
      } catch (error) {
        if (!isDomainError(error, 'unavailable')) {
          log.error({ err: error, tenantId, callIds }, 'spend not settled');
          break;
        }
        log.warn({ err: error, tenantId, calls: callIds.length }, 'spend settlement failed; will retry');
        await sleep(pauseAfter(failures), stopped.signal, { ref: false });
      }
    }
    for (const callId of callIds) forget(tenantId, callId);
    return callIds;
  });

  /** Makes a change in a batch of several tenants and returns its outcome. Every change that is not `made` must be retried separately. */
  const changeWithOthers = inBatches(batches, async (changes: SpendChange[]): Promise<Outcome[]> => {
    try {
      const options = { caller: serviceCaller(unit, null, 'spend'), timeoutMs: togetherMs };
      const { left: unmade, leaseMs: ms } = await ledger.meterSpend({ changes }, options);
      setLease(ms);
      const isUnmade = new Set(unmade);
      return changes.map((_, place) => (isUnmade.has(place) ? 'unmade' : 'made'));
    } catch {
      return changes.map(() => 'unknown');
    }
  });

  function settle(tenantId: number, settlement: SpendSettlement): Promise<void> {
    const store = async () => {
      const outcome = await changeWithOthers({ tenantId, change: { $case: 'settle', value: settlement } });
      if (outcome === 'made') forget(tenantId, settlement.call.callId);
      else await settleAlone(tenantId, settlement);
    };
    const stored = store().finally(() => unsettled.delete(stored));
    unsettled.add(stored);
    return stored;
  }

  return {
    name: 'spend meter',
    async start() {
      renewLater();
    },
    async stop() {
      clearTimeout(timer);
      const flushed = Promise.all(unsettled);
      await within(flushMs, 'settling spend', flushed).catch((error: unknown) => {
        log.warn({ err: error }, 'stopped with unsettled spend; it is settled at its estimate');
      });
      stopped.abort();
    },

    renewNow,

    open({ tenantId, requestId, callId, operation, apiKeyId, agentId, sessionId }) {
      const caller = callerOf(tenantId, requestId);
      const callOf = (spent: Spent) => ({ callId, operation, apiKeyId, agentId, sessionId, ...spent });
      return {
        async reserve(estimate, begins) {
          const call = callOf(estimate);
          const change = { $case: 'reserve' as const, value: { call, begins } };
          const outcome = await changeWithOthers({ tenantId, change });
          if (outcome === 'made') return track(tenantId, callId);
          try {
            const { leaseMs: ms } = await ledger.reserveSpend(
              { call, begins },
              { caller, expectedErrors: ['invalid', 'notFound'] },
            );
            setLease(ms);
          } catch (error) {
            if (isDomainError(error, 'notFound')) throw tenantDeleted(error);
            // The call may have been admitted despite the error.
            const free = { ...call, tokensIn: 0, tokensOut: 0, costUsdE8: 0n };
            if (!isDomainError(error, 'invalid') || outcome === 'unknown')
              void settle(tenantId, { call: free, estimated: false, served: false });
            // The error of an unavailable ledger arrives with its reason but without its text.
            if (isDomainError(error, 'unavailable') && error.reason === 'PLATFORM_CEILING_REACHED')
              throw ceilingReached(error);
            throw error;
          }
          track(tenantId, callId);
        },
        async begin() {
          try {
            await ledger.beginSpend({ callId }, { caller, expectedErrors: ['notFound'] });
          } catch (error) {
            if (!isDomainError(error, 'notFound')) throw error;
            throw unavailable('The call waited too long', error);
          }
        },
        async settle({ estimated, served, ...spent }) {
          const stored = settle(tenantId, { call: callOf(spent), estimated, served });
          await within(answerWaitMs, 'settling spend', stored).catch(() => undefined);
        },
      };
    },
  };
}

/** Makes the error for a deleted tenant, whose ledger is deleted too. */
function tenantDeleted(cause: DomainError): DomainError {
  return new DomainError('forbidden', 'The tenant was deleted', { reason: 'TENANT_DELETED', cause });
}

function ceilingReached(cause: DomainError): DomainError {
  const { reason } = cause;
  return new DomainError('unavailable', 'The platform has reached its monthly ceiling of LLM spend', { reason, cause });
}

import type { Callers } from '@parley/kernel/caller';
import { badRequest, notFound, unavailable } from '@parley/kernel/errors';
import type { Addresses } from '@parley/kernel/processes/addresses';
import {
  IdentityServiceDefinition,
  type MeterSpendRequest,
  type ReserveSpendRequest,
  type SpendChange,
  type SpendSettlement,
} from '@parley/protos/parley/identity/v1/identity';
import { serveStub } from '@parley/testing/serve-stub';
import type { ExecutionContext } from 'ava';

/**
 * A stub of the identity service's methods that the agent service calls. No tenant overrides the LLM provider or model, and all tenants
 * share one in-memory ledger.
 */
export interface StubLedger {
  /** The spend cap, in units of 1e-8 USD. Default: 10 USD. */
  cap: bigint;
  /** Values that are the same for all tenants. */
  tenant: { suspended: boolean; deleted: boolean; apiKeyId: number };
  readonly revokedSignIns: Set<string>;
  /** While true, every call to the stub fails with `unavailable`. */
  isDown: boolean;
  /** Reservations, in the order received. */
  readonly reserved: ReserveSpendRequest[];
  /** Ids of model calls that have begun, or whose reservation allowed them to begin at once. */
  readonly begun: Set<string>;
  /** Ids of model calls that are reserved but not settled. */
  readonly open: Set<string>;
  /** Settlements, in the order received. */
  readonly settled: SpendSettlement[];
  /** Total cost of all settlements, in units of 1e-8 USD. */
  readonly spent: bigint;
}

export async function startLedger(
  t: Pick<ExecutionContext, 'teardown'>,
  { callers, addresses }: { callers: Callers; addresses: Addresses },
): Promise<StubLedger> {
  const ledger = {
    cap: 1_000_000_000n,
    isDown: false,
    tenant: { suspended: false, deleted: false, apiKeyId: 9 },
    revokedSignIns: new Set<string>(),
    reserved: [] as ReserveSpendRequest[],
    begun: new Set<string>(),
    open: new Set<string>(),
    settled: [] as SpendSettlement[],
    get spent() {
      return this.settled.reduce((sum, { call }) => sum + (call?.costUsdE8 ?? 0n), 0n);
    },
  };
  const answers = <Request, Response>(answer: (request: Request) => Response) => {
    return async (request: Request) => {
      if (ledger.isDown) throw unavailable('the ledger is down');
      return answer(request);
    };
  };
  function reserve(request: ReserveSpendRequest) {
    if (ledger.spent >= ledger.cap)
      throw badRequest('Monthly LLM spend cap reached: $10.00 (spent $10.00)', 'SPEND_CAP_REACHED');
    const callId = request.call?.callId ?? '';
    ledger.reserved.push(request);
    ledger.open.add(callId);
    if (request.begins) ledger.begun.add(callId);
    return { leaseMs: 30_000 };
  }
  function settle({ settlements }: { settlements: SpendSettlement[] }) {
    for (const settlement of settlements) {
      ledger.open.delete(settlement.call?.callId ?? '');
      ledger.settled.push(settlement);
    }
    return {};
  }
  function isMade({ change }: SpendChange): boolean {
    try {
      if (change?.$case === 'reserve') reserve(change.value);
      else if (change) settle({ settlements: [change.value] });
      return true;
    } catch {
      return false;
    }
  }
  await serveStub(
    t,
    IdentityServiceDefinition,
    {
      getTenant: answers(({ tenantId }: { tenantId: number }) => ({
        tenantId,
        plan: 'DEV',
        ...ledger.tenant,
        llmProviderOverride: '',
        llmModelOverride: '',
      })),
      resolveSignIn: answers(({ signInId }: { signInId: string }) => {
        if (ledger.revokedSignIns.has(signInId)) throw notFound('Sign-in', signInId);
        return { userId: 71, displayName: 'Ada Lovelace', tenantId: 1 };
      }),
      reserveSpend: answers(reserve),
      settleSpend: answers(settle),
      meterSpend: answers(({ changes }: MeterSpendRequest) => ({
        left: changes.flatMap((change, place) => (isMade(change) ? [] : [place])),
        leaseMs: 30_000,
      })),
      beginSpend: answers(({ callId }: { callId: string }) => {
        if (!ledger.open.has(callId)) throw notFound('Reservation', callId);
        ledger.begun.add(callId);
        return {};
      }),
      renewSpend: answers(() => ({})),
    },
    { callers, addresses },
  );
  return ledger;
}

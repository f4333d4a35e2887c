import type { Callers } from '@parley/kernel/caller';
import { badRequest } from '@parley/kernel/errors';
import type { Addresses } from '@parley/kernel/processes/addresses';
import {
  IdentityServiceDefinition,
  type ReserveSpendRequest,
  type SpendSettlement,
} from '@parley/protos/parley/identity/v1/identity';
import { serveStub } from '@parley/testing/serve-stub';
import type { ExecutionContext } from 'ava';

export interface StubLedger {
  atCap: boolean;
  readonly reserved: ReserveSpendRequest[];
  readonly settled: SpendSettlement[];
}

/** Identity's ledger, in memory. */
export async function startLedger(
  t: Pick<ExecutionContext, 'teardown'>,
  { callers, addresses }: { callers: Callers; addresses: Addresses },
): Promise<StubLedger> {
  const ledger: StubLedger = { atCap: false, reserved: [], settled: [] };
  await serveStub(
    t,
    IdentityServiceDefinition,
    {
      async reserveSpend(request: ReserveSpendRequest) {
        if (ledger.atCap) throw badRequest('Monthly LLM spend cap reached: $1.00', 'SPEND_CAP_REACHED');
        ledger.reserved.push(request);
        return { leaseMs: 30_000 };
      },
      getTenant: async ({ tenantId }: { tenantId: number }) => ({
        tenantId,
        plan: 'DEV',
        suspended: false,
        deleted: false,
        llmProviderOverride: '',
        llmModelOverride: '',
        quotas: { knowledgeBases: 10, chunks: 100_000, storageMb: 100 },
      }),
      renewSpend: async () => ({}),
      async settleSpend({ settlements }: { settlements: SpendSettlement[] }) {
        ledger.settled.push(...settlements);
        return {};
      },
    },
    { callers, addresses },
  );
  return ledger;
}

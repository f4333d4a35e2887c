import { type Caller, inTenant } from '@parley/kernel/caller';
import type { SettleSpendRequest } from '@parley/protos/parley/identity/v1/identity';
import type { Ports } from './ports.ts';
import { settlementsOf } from './spend-call.ts';

export async function settleSpend({ ledger }: Ports, caller: Caller, request: SettleSpendRequest): Promise<void> {
  const { tenantId } = inTenant(caller);
  const settlements = settlementsOf(request.settlements);
  if (settlements.length > 0) await ledger.settle(tenantId, settlements);
}

import type { TenantRequest } from '@parley/kernel/caller-request';
import type { SettleSpendRequest } from '@parley/protos/parley/identity/v1/identity';
import type { Ports } from '../ports.ts';
import { settlementsOf } from './spend-call.ts';

export async function settleSpend(
  { ledger }: Ports,
  { caller: { tenantId } }: TenantRequest,
  input: SettleSpendRequest,
): Promise<void> {
  const settlements = settlementsOf(input.settlements);
  if (settlements.length > 0) await ledger.settle(tenantId, settlements);
}

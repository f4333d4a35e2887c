import type { TenantRequest } from '@parley/kernel/caller-request';
import { parseInput } from '@parley/kernel/input';
import type { RenewSpendRequest } from '@parley/protos/parley/identity/v1/identity';
import { z } from 'zod';
import type { Ports } from '../ports.ts';
import { callId } from './spend-call.ts';

const renewed = z.object({ callIds: z.array(callId).max(1_000) });

export async function renewSpend(
  { ledger }: Ports,
  { caller: { tenantId } }: TenantRequest,
  input: RenewSpendRequest,
): Promise<void> {
  const { callIds } = parseInput(renewed, input, '');
  if (callIds.length > 0) await ledger.renew(tenantId, callIds);
}

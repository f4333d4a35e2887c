import type { TenantRequest } from '@parley/kernel/caller-request';
import { notFound } from '@parley/kernel/errors';
import { parseInput } from '@parley/kernel/input';
import type { BeginSpendRequest } from '@parley/protos/parley/identity/v1/identity';
import { z } from 'zod';
import type { Ports } from '../ports.ts';
import { callId } from './spend-call.ts';

const begun = z.object({ callId });

/** Marks a reserved call as started. @throws `notFound` if the lease has expired; then the provider must not be called */
export async function beginSpend(
  { ledger }: Ports,
  { caller: { tenantId } }: TenantRequest,
  input: BeginSpendRequest,
): Promise<void> {
  const given = parseInput(begun, input, '');
  if (!(await ledger.begin(tenantId, given.callId))) throw notFound('Reservation', given.callId);
}

import type { TenantRequest } from '@parley/kernel/caller-request';
import { badRequest, DomainError, notFound } from '@parley/kernel/errors';
import type { ReserveSpendRequest } from '@parley/protos/parley/identity/v1/identity';
import type { Ports } from '../ports.ts';
import { meteredCall } from './spend-call.ts';

/**
 * Reserves the cost of a model call, even for a suspended tenant, because its running turns continue.
 * @throws `notFound` if the tenant does not exist or was deleted
 * @throws `invalid` with `SPEND_CAP_REACHED` if the tenant has reached its monthly cap
 * @throws `unavailable` with `PLATFORM_CEILING_REACHED` if the platform has reached its monthly ceiling
 */
export async function reserveSpend(
  { ledger }: Ports,
  { caller: { tenantId } }: TenantRequest,
  input: ReserveSpendRequest,
): Promise<void> {
  const call = meteredCall(input.call);
  const admission = await ledger.reserve(tenantId, { ...call, begins: input.begins });
  if (!admission) throw notFound('Tenant', tenantId);
  const { refusedBy, capUsd, spentUsd, heldUsd } = admission;
  if (refusedBy === 'cap') {
    const held = heldUsd === null ? '' : `, $${heldUsd} held by calls in flight`;
    throw badRequest(`Monthly LLM spend cap reached: $${capUsd} (spent $${spentUsd}${held})`, 'SPEND_CAP_REACHED');
  }
  if (refusedBy === 'ceiling') {
    const reason = 'PLATFORM_CEILING_REACHED';
    throw new DomainError('unavailable', 'The platform has reached its monthly ceiling of LLM spend', { reason });
  }
}

import type { CallerRequest } from '@parley/kernel/caller-request';
import { forbidden, invalid, isDomainError } from '@parley/kernel/errors';
import { parseInput } from '@parley/kernel/input';
import type { MeterSpendRequest, SpendChange } from '@parley/protos/parley/identity/v1/identity';
import { z } from 'zod';
import type { Ports } from '../ports.ts';
import type { LedgerChange } from './ledger.ts';
import { meteredCall, settlementsOf } from './spend-call.ts';

const maxChanges = 500;
/** A tenant's id, or `platformTenant`. */
const tenant = z.object({ tenantId: z.int32().nonnegative() });

/**
 * Applies changes of many tenants in one step.
 * @returns the indexes of the changes that were not applied; the caller applies such a change alone to learn the reason
 */
export async function meterSpend(
  { ledger, log }: Pick<Ports, 'ledger' | 'log'>,
  { caller }: CallerRequest,
  { changes }: MeterSpendRequest,
): Promise<number[]> {
  if (caller.kind !== 'service' || caller.tenantId !== null) throw forbidden('Only units meter calls of many tenants');
  if (changes.length > maxChanges) throw invalid({ path: 'changes', message: `must be at most ${maxChanges}` });
  const made = await Promise.all(
    changes.map(async (change) => {
      try {
        const { tenantId } = parseInput(tenant, { tenantId: change.tenantId }, '');
        return await ledger.changeWithOthers(tenantId, ledgerChange(change));
      } catch (error) {
        if (!isDomainError(error, 'invalid')) log.warn({ err: error }, 'changes of ledgers not made in one step');
        return false;
      }
    }),
  );
  return made.flatMap((isMade, place) => (isMade ? [] : [place]));
}

/** @throws DomainError `invalid` if the change is invalid, or of a kind that this version does not know */
function ledgerChange({ change }: SpendChange): LedgerChange {
  if (change?.$case === 'reserve') {
    const { call, begins } = change.value;
    return { reservation: { ...meteredCall(call), begins } };
  }
  const [settlement] = change?.$case === 'settle' ? settlementsOf([change.value]) : [];
  if (!settlement) throw invalid({ path: 'change', message: 'must be one that this version knows' });
  return { settlement };
}

import type { Caller } from '@parley/kernel/caller';
import { badRequest, invalid } from '@parley/kernel/errors';
import type {
  PassOwnershipRequest,
  SetIdpOneBillingRequest,
  SetMonthlyCapRequest,
  SetPlanRequest,
  SetQuotaRequest,
  SetTenantSuspensionRequest,
} from '@parley/protos/parley/identity/v1/admin';
import { isUsd, notUsd } from '../plan-limits.ts';
import type { Ports } from '../ports.ts';
import { isTenantPlan } from '../tenant.ts';
import { type TenantChanges, tenantStore } from '../tenant-store.ts';
import { changeTenant } from './audited-change.ts';
import { directoryStore, type ListedTenant } from './directory-store.ts';

type Change<Request> = (ports: Ports, caller: Caller, request: Request) => Promise<ListedTenant>;

function update(ports: Ports, caller: Caller, action: string, tenantId: number, changes: TenantChanges) {
  return changeTenant(ports, caller, { action, tenantId }, async (db) => {
    await tenantStore(db).update(tenantId, changes);
    return undefined;
  });
}

/** The owner's own switch stays as it is. */
export const setTenantSuspension: Change<SetTenantSuspensionRequest> = (ports, caller, { tenantId, suspended }) =>
  update(ports, caller, suspended ? 'suspend-tenant' : 'restore-tenant', tenantId, { suspendedByOperator: suspended });

export const setPlan: Change<SetPlanRequest> = async (ports, caller, { tenantId, plan }) => {
  if (!isTenantPlan(plan)) throw invalid({ path: 'plan', message: 'must be DEV, PRO or ENTERPRISE' });
  return update(ports, caller, 'set-plan', tenantId, { plan });
};

export const setMonthlyCap: Change<SetMonthlyCapRequest> = async (ports, caller, { tenantId, monthlyCapUsdE8: e8 }) => {
  const usd = e8 === undefined ? null : Number(e8) / 1e8;
  if (usd !== null && !isUsd(usd)) throw invalid({ path: 'monthlyCapUsdE8', message: notUsd });
  return update(ports, caller, usd === null ? 'clear-cap' : 'set-cap', tenantId, { monthlyLlmCapUsd: usd });
};

const quotas = new Map<string, 'ownKnowledgeBases' | 'ownChunks' | 'ownStorageMb'>([
  ['knowledge-bases', 'ownKnowledgeBases'],
  ['chunks', 'ownChunks'],
  ['storage-mb', 'ownStorageMb'],
]);

export const setQuota: Change<SetQuotaRequest> = async (ports, caller, { tenantId, quota, amount = null }) => {
  const column = quotas.get(quota);
  if (!column) throw invalid({ path: 'quota', message: `must be one of ${[...quotas.keys()].join(', ')}` });
  if (amount !== null && amount < 1) throw invalid({ path: 'amount', message: 'must be above 0' });
  return update(ports, caller, amount === null ? 'clear-quota' : 'set-quota', tenantId, { [column]: amount });
};

export const setIdpOneBilling: Change<SetIdpOneBillingRequest> = (ports, caller, { tenantId, confirmed }) =>
  update(ports, caller, confirmed ? 'confirm-billing' : 'withdraw-billing', tenantId, {
    idpOneBillingConfirmed: confirmed,
  });

/** The owner before becomes a member. @throws DomainError `notFound`; `invalid`: `NOT_A_MEMBER`, `USER_SUSPENDED` */
export const passOwnership: Change<PassOwnershipRequest> = (ports, caller, { tenantId, userId }) =>
  changeTenant(ports, caller, { action: 'pass-ownership', tenantId, userId }, async (db) => {
    const { status, ownerOf, memberOf } = await directoryStore(db).getUser(userId);
    if (![...ownerOf, ...memberOf].includes(tenantId)) {
      throw badRequest(`User ${userId} is not a member of tenant ${tenantId}`, 'NOT_A_MEMBER');
    }
    if (status === 'SUSPENDED') throw badRequest(`User ${userId} is suspended`, 'USER_SUSPENDED');
    await tenantStore(db).setOwner(tenantId, userId);
    return undefined;
  });

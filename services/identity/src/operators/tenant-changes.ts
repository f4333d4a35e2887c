import type { CallerRequest } from '@parley/kernel/caller-request';
import { badRequest, invalid } from '@parley/kernel/errors';
import type {
  PassOwnershipRequest,
  SetIdpOneBillingRequest,
  SetMonthlyCapRequest,
  SetPlanRequest,
  SetQuotaRequest,
  SetTenantSuspensionRequest,
} from '@parley/protos/parley/identity/v1/admin';
import type { Ports } from '../ports.ts';
import { isUsd, notUsd } from '../spend/plan-limits.ts';
import { isTenantPlan } from '../tenants/tenant.ts';
import { type TenantChanges, tenantStore } from '../tenants/tenant-store.ts';
import { changeTenant } from './audited-change.ts';
import { directoryStore, type ListedTenant } from './directory-store.ts';

type Change<Input> = (ports: Ports, request: CallerRequest, input: Input) => Promise<ListedTenant>;

function update(ports: Ports, request: CallerRequest, action: string, tenantId: number, changes: TenantChanges) {
  return changeTenant(ports, request, { action, tenantId }, async (db) => {
    await tenantStore(db).update(tenantId, changes);
    return undefined;
  });
}

/** Sets or lifts the operator's suspension; the owner's own suspension is unchanged. */
export const setTenantSuspension: Change<SetTenantSuspensionRequest> = (ports, request, { tenantId, suspended }) =>
  update(ports, request, suspended ? 'suspend-tenant' : 'restore-tenant', tenantId, { suspendedByOperator: suspended });

export const setPlan: Change<SetPlanRequest> = async (ports, request, { tenantId, plan }) => {
  if (!isTenantPlan(plan)) throw invalid({ path: 'plan', message: 'must be DEV, PRO or ENTERPRISE' });
  return update(ports, request, 'set-plan', tenantId, { plan });
};

export const setMonthlyCap: Change<SetMonthlyCapRequest> = async (
  ports,
  request,
  { tenantId, monthlyCapUsdE8: e8 },
) => {
  const usd = e8 === undefined ? null : Number(e8) / 1e8;
  if (usd !== null && !isUsd(usd)) throw invalid({ path: 'monthlyCapUsdE8', message: notUsd });
  return update(ports, request, usd === null ? 'clear-cap' : 'set-cap', tenantId, { monthlyLlmCapUsd: usd });
};

const quotas = new Map<string, 'ownKnowledgeBases' | 'ownChunks' | 'ownStorageMb'>([
  ['knowledge-bases', 'ownKnowledgeBases'],
  ['chunks', 'ownChunks'],
  ['storage-mb', 'ownStorageMb'],
]);

export const setQuota: Change<SetQuotaRequest> = async (ports, request, { tenantId, quota, amount = null }) => {
  const column = quotas.get(quota);
  if (!column) throw invalid({ path: 'quota', message: `must be one of ${[...quotas.keys()].join(', ')}` });
  if (amount !== null && amount < 1) throw invalid({ path: 'amount', message: 'must be above 0' });
  return update(ports, request, amount === null ? 'clear-quota' : 'set-quota', tenantId, { [column]: amount });
};

export const setIdpOneBilling: Change<SetIdpOneBillingRequest> = (ports, request, { tenantId, confirmed }) =>
  update(ports, request, confirmed ? 'confirm-billing' : 'withdraw-billing', tenantId, {
    idpOneBillingConfirmed: confirmed,
  });

/**
 * Transfers a tenant to a member; the previous owner becomes a member.
 * @throws DomainError `notFound` if the tenant or the user does not exist
 * @throws DomainError `invalid` with `NOT_A_MEMBER` or `USER_SUSPENDED` if the user cannot become the owner
 */
export const passOwnership: Change<PassOwnershipRequest> = (ports, request, { tenantId, userId }) =>
  changeTenant(ports, request, { action: 'pass-ownership', tenantId, userId }, async (db) => {
    const { status, ownerOf, memberOf } = await directoryStore(db).getUser(userId);
    if (![...ownerOf, ...memberOf].includes(tenantId)) {
      throw badRequest(`User ${userId} is not a member of tenant ${tenantId}`, 'NOT_A_MEMBER');
    }
    if (status === 'SUSPENDED') throw badRequest(`User ${userId} is suspended`, 'USER_SUSPENDED');
    await tenantStore(db).setOwner(tenantId, userId);
    return undefined;
  });

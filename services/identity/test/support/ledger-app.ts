import type { ExecutionContext } from 'ava';
import type { IdentitySettings } from '../../src/config.ts';
import { identityApp } from './identity-app.ts';
import { agentOf, changeTenant, ledgerOf, newTenant, type settlement, spendCall, usd } from './spend.ts';

/** Creates the use cases, and a function that creates tenants whose ledger a test can read. */
export async function ledgerApp(t: ExecutionContext, settings: Partial<IdentitySettings> = {}) {
  const given = await identityApp(t, settings);
  const { app, database, replica } = given;
  const bind = (of: typeof app, tenantId: number) => ({
    reserve: (callId: string, costUsd = 0.01, begins = true) =>
      of.reserveSpend(agentOf(tenantId), { call: spendCall(callId, { costUsdE8: usd(costUsd) }), begins }),
    begin: (callId: string) => of.beginSpend(agentOf(tenantId), { callId }),
    renew: (...callIds: string[]) => of.renewSpend(agentOf(tenantId), { callIds }),
    settle: (...settlements: ReturnType<typeof settlement>[]) => of.settleSpend(agentOf(tenantId), { settlements }),
  });
  const tenant = async (plan: 'DEV' | 'PRO' | 'ENTERPRISE' = 'DEV') => {
    const id = await newTenant(database, plan);
    return {
      id,
      ...bind(app, id),
      onAnotherReplica: async () => bind(await replica(), id),
      ledger: () => ledgerOf(database, id),
      change: (changes: object) => changeTenant(database, id, changes),
    };
  };
  return { ...given, tenant };
}

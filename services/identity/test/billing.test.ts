import test from 'ava';
import { addMember, identityApp, signUp } from './support/identity-app.ts';
import { agentOf, changeTenant, settlement, spendCall, usd } from './support/spend.ts';

const atCap = (cap: string, spent: string, held?: string) => ({
  kind: 'invalid',
  reason: 'SPEND_CAP_REACHED',
  message: `Monthly LLM spend cap reached: $${cap} (spent $${spent}${held === undefined ? '' : `, $${held} held by calls in flight`})`,
});

test('rule 7: the primary billing account is set explicitly, by its owner, and answered as asked', async (t) => {
  const identity = await identityApp(t);
  const { app, announced } = identity;
  const { caller } = await signUp(app);
  const stored = async () => (await app.myTenant(caller))?.primaryBillingAccount;
  t.is(await stored(), 'PLATFORM');
  for (const billingAccount of ['IDP_ONE', 'IDP_ONE', 'PLATFORM', 'IDP_ONE'] as const) {
    const { primaryBillingAccount, id } = await app.setPrimaryBillingAccount(caller, { billingAccount });
    t.deepEqual([id, primaryBillingAccount], [caller.tenantId, billingAccount]);
    t.deepEqual(announced.at(-1), { $case: 'tenantId', value: caller.tenantId });
    t.is(await stored(), billingAccount);
  }
  await app.updateTenant(caller, { name: 'Renamed', plan: 'DEV' });
  t.is(await stored(), 'IDP_ONE', 'nothing else changes it');
  t.is((await app.createTenant(caller, { name: 'Second' })).primaryBillingAccount, 'PLATFORM');
});

test('rule 7: billing by IDP_ONE keeps the cap of the plan until the operator has confirmed it', async (t) => {
  const { app, database } = await identityApp(t, { idpOneMonthlyCeilingUsd: 5_000 });
  const { caller } = await signUp(app);
  const cap = async () => (await app.apiUsageSummary(caller)).capUsd;
  const bill = (billingAccount: 'IDP_ONE' | 'PLATFORM') => app.setPrimaryBillingAccount(caller, { billingAccount });
  const confirm = (confirmed: boolean) =>
    changeTenant(database, caller.tenantId, { idpOneBillingConfirmed: confirmed });
  await confirm(true);
  t.is(await cap(), 10, 'confirmed, and not chosen');
  await bill('IDP_ONE');
  t.is(await cap(), 5_000);
  await confirm(false);
  t.is(await cap(), 10, 'chosen, and not confirmed');
  await confirm(true);
  await bill('PLATFORM');
  t.is(await cap(), 10);
});

test('rule 7: after spend above the cap under IDP_ONE, PLATFORM refuses the next call; a call under way is settled', async (t) => {
  const { app, database } = await identityApp(t);
  const { caller } = await signUp(app);
  const { tenantId } = caller;
  const reserve = (callId: string, costUsd = 0.01) =>
    app.reserveSpend(agentOf(tenantId), { call: spendCall(callId, { costUsdE8: usd(costUsd) }), begins: true });
  const bill = (billingAccount: 'IDP_ONE' | 'PLATFORM') => app.setPrimaryBillingAccount(caller, { billingAccount });

  await app.settleSpend(agentOf(tenantId), { settlements: [settlement('a', { costUsdE8: usd(10) })] });
  t.like(await t.throwsAsync(reserve('b')), atCap('10.00', '10.00'));
  await bill('IDP_ONE');
  t.like(await t.throwsAsync(reserve('b')), atCap('10.00', '10.00'), 'not confirmed yet');
  await changeTenant(database, tenantId, { idpOneBillingConfirmed: true });
  await reserve('b', 20);
  await app.settleSpend(agentOf(tenantId), { settlements: [settlement('b', { costUsdE8: usd(20) })] });
  await reserve('under way', 5);

  await bill('PLATFORM');
  t.like(await t.throwsAsync(reserve('c')), atCap('10.00', '30.00', '5.00'));
  t.deepEqual(await app.apiUsageSummary(caller), { spentUsd: 30, capUsd: 10 });
  await app.settleSpend(agentOf(tenantId), { settlements: [settlement('under way', { costUsdE8: usd(5) })] });
  t.is((await app.apiUsageSummary(caller)).spentUsd, 35);
  await bill('IDP_ONE');
  await t.notThrowsAsync(reserve('c'));
});

test('setPrimaryBillingAccount is for the owner, also of a suspended tenant', async (t) => {
  const identity = await identityApp(t);
  const { app, database } = identity;
  const { caller: owner } = await signUp(app);
  const { caller } = await signUp(app);
  const billingAccount = 'IDP_ONE';
  const member = await addMember(identity, caller, owner.tenantId);
  t.like(await t.throwsAsync(app.setPrimaryBillingAccount(member, { billingAccount })), {
    kind: 'forbidden',
    reason: 'OWNER_ONLY',
  });
  await changeTenant(database, owner.tenantId, { suspendedByOperator: true });
  t.like(await app.setPrimaryBillingAccount(owner, { billingAccount }), { primaryBillingAccount: billingAccount });
});

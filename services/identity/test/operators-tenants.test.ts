import test from 'ava';
import { addMember, signUp } from './support/identity-app.ts';
import { operator, operatorsApp } from './support/operators.ts';
import { agentOf, settlement, spendCall, usd } from './support/spend.ts';

const ada = operator('ada');

test('a tenant that an operator has suspended is closed, and its owner cannot lift that', async (t) => {
  const { app, admin, announced } = await operatorsApp(t);
  const { caller } = await signUp(app);
  const { tenantId, signInId } = caller;
  await app.updateTenant(caller, { isSuspended: true });
  announced.splice(0);
  const suspended = await admin.setTenantSuspension(ada, { tenantId, suspended: true });
  t.like(suspended, { id: tenantId, suspendedByTenant: true, suspendedByOperator: true });
  t.deepEqual(announced, [{ $case: 'tenantId', value: tenantId }]);
  t.true((await app.resolveSignIn(signInId)).tenantSuspended);
  t.like(await t.throwsAsync(app.updateTenant(caller, { isSuspended: false })), { reason: 'SUSPENDED_BY_OPERATOR' });

  await admin.setTenantSuspension(ada, { tenantId, suspended: false });
  t.true((await app.resolveSignIn(signInId)).tenantSuspended); // the owner's own suspension remains
  await app.updateTenant(caller, { isSuspended: false });
  t.false((await app.resolveSignIn(signInId)).tenantSuspended);
});

test('an operator raises a plan where its owner may not, and the next call of a model sees it', async (t) => {
  const { app, admin } = await operatorsApp(t, { planChanges: 'operator' });
  const { caller } = await signUp(app);
  const { tenantId } = caller;
  await app.settleSpend(agentOf(tenantId), { settlements: [settlement('a', { costUsdE8: usd(10) })] });
  const reserve = (id: string) => app.reserveSpend(agentOf(tenantId), { call: spendCall(id), begins: true });
  t.like(await t.throwsAsync(app.updateTenant(caller, { plan: 'PRO' })), { reason: 'PLAN_CHANGE_BY_OPERATOR' });
  t.like(await t.throwsAsync(reserve('b')), { reason: 'SPEND_CAP_REACHED' });

  t.like(await admin.setPlan(ada, { tenantId, plan: 'PRO' }), { plan: 'PRO' });
  await t.notThrowsAsync(reserve('b'));
  t.like(await admin.setPlan(ada, { tenantId, plan: 'DEV' }), { plan: 'DEV' });
  t.like(await t.throwsAsync(reserve('c')), { reason: 'SPEND_CAP_REACHED' });
  for (const plan of ['', 'GOLD', 'pro', "PRO'--", 'constructor']) {
    t.like(await t.throwsAsync(admin.setPlan(ada, { tenantId, plan })), { kind: 'invalid' });
  }
});

test("a tenant's own cap stands in place of its plan's and of IDP_ONE's ceiling, from the next call on", async (t) => {
  const { app, admin } = await operatorsApp(t, { idpOneMonthlyCeilingUsd: 777 });
  const { caller } = await signUp(app);
  const { tenantId } = caller;
  const setCap = (amount?: bigint) => admin.setMonthlyCap(ada, { tenantId, monthlyCapUsdE8: amount });
  const refusal = async (id: string) => {
    const reserved = app.reserveSpend(agentOf(tenantId), { call: spendCall(id), begins: true });
    return reserved.then(
      () => 'admitted',
      (error: unknown) => (error instanceof Error ? error.message : ''),
    );
  };
  const reached = (cap: string, held = '') => `Monthly LLM spend cap reached: $${cap} (spent $12.00${held})`;
  const held = ', $0.01 held by calls in flight';
  await app.settleSpend(agentOf(tenantId), { settlements: [settlement('a', { costUsdE8: usd(12) })] });
  t.is(await refusal('b'), reached('10.00'));

  t.like(await setCap(usd(12.5)), { monthlyCapUsd: '12.50' });
  t.is(await refusal('b'), 'admitted');
  t.is((await app.apiUsageSummary(caller)).capUsd, 12.5);
  await setCap(1_000_000n);
  t.is(await refusal('c'), reached('0.01', held));
  await admin.setPlan(ada, { tenantId, plan: 'ENTERPRISE' });
  t.is(await refusal('c'), reached('0.01', held));
  await admin.setIdpOneBilling(ada, { tenantId, confirmed: true });
  await app.setPrimaryBillingAccount(caller, { billingAccount: 'IDP_ONE' });
  t.is(await refusal('c'), reached('0.01', held));

  t.like(await setCap(), { monthlyCapUsd: null });
  t.is((await app.apiUsageSummary(caller)).capUsd, 777);
  for (const amount of [0n, -usd(1), 1n, 1_500_000n, usd(1) + 1n, usd(999_999_999) + usd(1), 2n ** 63n - 1n]) {
    t.like(await t.throwsAsync(setCap(amount)), { kind: 'invalid' }, String(amount));
  }
  t.like(await setCap(usd(999_999_999)), { monthlyCapUsd: '999999999.00' });
});

test('IDP_ONE lifts the cap of a plan once an operator has confirmed that billing, until they withdraw it', async (t) => {
  const { app, admin } = await operatorsApp(t, { idpOneMonthlyCeilingUsd: 777 });
  const { caller } = await signUp(app);
  const { tenantId } = caller;
  await app.setPrimaryBillingAccount(caller, { billingAccount: 'IDP_ONE' });
  const cap = async () => (await app.apiUsageSummary(caller)).capUsd;
  t.is(await cap(), 10);
  t.like(await admin.setIdpOneBilling(ada, { tenantId, confirmed: true }), { idpOneBillingConfirmed: true });
  t.is(await cap(), 777);
  t.like(await admin.setIdpOneBilling(ada, { tenantId, confirmed: false }), { idpOneBillingConfirmed: false });
  t.is(await cap(), 10);
});

test('passed-on ownership: the new owner may what only owners may, the old one is a member', async (t) => {
  const { app, admin, database } = await operatorsApp(t);
  const { caller: owner } = await signUp(app);
  const { tenantId } = owner;
  const { caller: someone } = await signUp(app);
  const member = { ...(await addMember({ app, database }, someone, tenantId)), tenantId };
  t.like(await t.throwsAsync(app.generateApiKey(member)), { reason: 'OWNER_ONLY' });

  t.is((await admin.passOwnership(ada, { tenantId, userId: member.userId })).ownerId, member.userId);
  await t.notThrowsAsync(app.generateApiKey(member));
  t.like(await t.throwsAsync(app.deleteTenant(owner)), { reason: 'OWNER_ONLY' });
  await t.notThrowsAsync(app.updateTenant(owner, { name: 'still a member' }));
  t.is((await admin.passOwnership(ada, { tenantId, userId: member.userId })).ownerId, member.userId);
});

test('ownership passes only to an active member of a live tenant', async (t) => {
  const { app, admin, audit, database } = await operatorsApp(t);
  const { caller: owner } = await signUp(app);
  const { tenantId } = owner;
  const { caller: stranger } = await signUp(app);
  const { caller: someone } = await signUp(app);
  const member = await addMember({ app, database }, someone, tenantId);
  await admin.setUserSuspension(ada, { userId: member.userId, suspended: true });
  const entries = (await audit()).length;
  const pass = (userId: number, id = tenantId) => t.throwsAsync(admin.passOwnership(ada, { tenantId: id, userId }));

  t.like(await pass(stranger.userId), { kind: 'invalid', reason: 'NOT_A_MEMBER' });
  t.like(await pass(member.userId), { kind: 'invalid', reason: 'USER_SUSPENDED' });
  t.like(await pass(999_999), { kind: 'notFound', message: 'User 999999 not found' });
  t.like(await pass(owner.userId, 999_999), { kind: 'notFound', message: 'Tenant 999999 not found' });
  await app.deleteTenant(owner);
  t.like(await pass(owner.userId), { kind: 'notFound' });
  t.is((await audit()).length, entries); // refused changes leave no audit entry
});

test('of operators who pass a tenant on at once, on two replicas, each succeeds, and one owner remains', async (t) => {
  const { app, admin, elsewhere, audit, database } = await operatorsApp(t);
  const { caller: owner } = await signUp(app);
  const { tenantId } = owner;
  const userIds: number[] = [];
  for (let n = 0; n < 3; n += 1) {
    const { caller } = await signUp(app);
    userIds.push((await addMember({ app, database }, caller, tenantId)).userId);
  }
  const other = await elsewhere();
  await Promise.all([
    ...userIds.map((userId, n) => (n % 2 ? admin : other).passOwnership(operator(`op${n}`), { tenantId, userId })),
    ...userIds.map((userId) => other.revokeSignIns(operator('other'), { userId })),
  ]);
  const owners = await database.transactShared(({ knex }) =>
    knex('memberships').where({ tenantId, role: 'OWNER' }).pluck('userId'),
  );
  const passed = (await audit({ tenant: tenantId })).map(({ facts }) => facts['ownerId'] as [number, number]);
  t.is(passed.length, 3);
  t.deepEqual(owners, [passed[0]?.[1]]);
  // Each transfer begins with the owner that the previous transfer ended with.
  t.deepEqual(
    passed.map(([from]) => from),
    [...passed.slice(1).map(([, to]) => to), owner.userId],
  );
});

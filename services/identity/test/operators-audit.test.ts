import test from 'ava';
import { addMember, anonymous, mesh, signUp } from './support/identity-app.ts';
import { ofAudit, ofTenants, ofUsers, operator, operatorCases, operatorsApp } from './support/operators.ts';
import { usd } from './support/spend.ts';

const ada = operator('ada');

test('only an operator with a name may do anything', async (t) => {
  const { app, admin, audit } = await operatorsApp(t);
  const { caller } = await signUp(app);
  const { tenantId, userId } = caller;
  const requests: { [Name in keyof typeof operatorCases]: Parameters<(typeof operatorCases)[Name]>[2] } = {
    listTenants: ofTenants(),
    listUsers: ofUsers(),
    setTenantSuspension: { tenantId, suspended: true },
    setPlan: { tenantId, plan: 'ENTERPRISE' },
    setMonthlyCap: { tenantId, monthlyCapUsdE8: usd(5) },
    setQuota: { tenantId, quota: 'chunks', amount: 1 },
    setIdpOneBilling: { tenantId, confirmed: true },
    passOwnership: { tenantId, userId },
    setUserSuspension: { userId, suspended: true },
    removeTwoFactor: { userId },
    revokeSignIns: { userId },
    invite: { contact: 'new@example.test' },
    listTenantSecrets: { tenantId },
    putTenantSecret: { tenantId, name: 'a', value: 'b' },
    removeTenantSecret: { tenantId, name: 'a' },
    tenantUsage: { tenantId },
    listSigningKeys: undefined,
    rotateSigningKey: undefined,
    listAudit: ofAudit(),
  };
  const nameless = [operator(''), operator('a\0'), operator('\ud800'), operator('x'.repeat(101))];
  for (const [name, request] of Object.entries(requests)) {
    const call = admin[name as keyof typeof admin] as (caller: object, request: object | undefined) => Promise<unknown>;
    for (const other of [caller, anonymous, ...nameless, mesh]) {
      const expected = { kind: 'forbidden', reason: 'OPERATOR_ONLY' };
      t.like(await t.throwsAsync(call(other, request)), expected, `${name} ${other.kind}`);
    }
  }
  t.deepEqual(await audit(), []);
  t.like(await app.resolveSignIn(caller.signInId), { tenantSuspended: false, userSuspended: false });
});

test('each change is in the audit with who, what, whom, when and what it changed', async (t) => {
  const { app, admin, audit, database } = await operatorsApp(t);
  const { caller } = await signUp(app);
  const { caller: someone } = await signUp(app);
  const { tenantId, userId } = caller;
  const { userId: other } = await addMember({ app, database }, someone, tenantId);
  const before = Date.now();
  await admin.setTenantSuspension(operator('ada', 'request-1'), { tenantId, suspended: true });
  await admin.setTenantSuspension(operator('bob'), { tenantId, suspended: true });
  await admin.setTenantSuspension(ada, { tenantId, suspended: false });
  await admin.setPlan(ada, { tenantId, plan: 'PRO' });
  await admin.setMonthlyCap(ada, { tenantId, monthlyCapUsdE8: usd(25.5) });
  await admin.setMonthlyCap(ada, { tenantId, monthlyCapUsdE8: undefined });
  await admin.setQuota(ada, { tenantId, quota: 'chunks', amount: 7 });
  await admin.setQuota(ada, { tenantId, quota: 'chunks' });
  await admin.setIdpOneBilling(ada, { tenantId, confirmed: true });
  await admin.setIdpOneBilling(ada, { tenantId, confirmed: false });
  await admin.passOwnership(ada, { tenantId, userId: other });
  await admin.putTenantSecret(ada, { tenantId, name: 'KEY', value: 'canary' });
  await admin.removeTenantSecret(ada, { tenantId, name: 'KEY' });
  await database.transactShared(({ knex }) =>
    knex('users')
      .where({ id: userId })
      .update({ twoFactorSecretSealed: Buffer.from('canary') }),
  );
  await admin.removeTwoFactor(ada, { userId });
  await admin.revokeSignIns(ada, { userId });
  await admin.setUserSuspension(ada, { userId, suspended: true });
  await admin.setUserSuspension(ada, { userId, suspended: false });
  const { kid } = await admin.rotateSigningKey(ada);

  const entries = await audit();
  t.deepEqual(
    entries.toReversed().map(({ action, tenantId, userId, facts }) => [action, tenantId, userId, facts]),
    [
      ['suspend-tenant', tenantId, null, { suspendedByOperator: [false, true] }],
      ['suspend-tenant', tenantId, null, {}],
      ['restore-tenant', tenantId, null, { suspendedByOperator: [true, false] }],
      ['set-plan', tenantId, null, { plan: ['DEV', 'PRO'] }],
      ['set-cap', tenantId, null, { monthlyCapUsd: [null, '25.50'] }],
      ['clear-cap', tenantId, null, { monthlyCapUsd: ['25.50', null] }],
      ['set-quota', tenantId, null, { ownChunks: [null, 7] }],
      ['clear-quota', tenantId, null, { ownChunks: [7, null] }],
      ['confirm-billing', tenantId, null, { idpOneBillingConfirmed: [false, true] }],
      ['withdraw-billing', tenantId, null, { idpOneBillingConfirmed: [true, false] }],
      ['pass-ownership', tenantId, other, { ownerId: [userId, other] }],
      ['set-secret', tenantId, null, { name: 'KEY', replaced: false }],
      ['remove-secret', tenantId, null, { name: 'KEY' }],
      ['remove-two-factor', null, userId, { twoFactor: [true, false] }],
      ['revoke-sign-ins', null, userId, { signIns: [1, 0] }],
      ['suspend-user', null, userId, { status: ['ACTIVE', 'SUSPENDED'] }],
      ['restore-user', null, userId, { status: ['SUSPENDED', 'ACTIVE'] }],
      ['rotate-key', null, null, { kid }],
    ],
  );
  t.like(entries.at(-1), { operator: 'ada', requestId: 'request-1' });
  t.like(entries.at(-2), { operator: 'bob', requestId: 'r1' });
  for (const { at } of entries) t.true(at.getTime() >= before - 1_000 && at.getTime() <= Date.now() + 1_000);
  t.false(JSON.stringify(entries).includes('canary'));

  t.deepEqual(new Set((await audit({ user: userId })).map(({ userId }) => userId)), new Set([userId]));
  t.deepEqual(
    (await audit({ user: other })).map(({ action }) => action),
    ['pass-ownership'],
  );
  t.deepEqual(await audit({ tenant: tenantId + 1_000 }), []);
  const page = await admin.listAudit(ada, ofAudit({ first: 3 }));
  t.deepEqual(page.rows, entries.slice(0, 3));
  const following = await admin.listAudit(ada, ofAudit({ first: 200, before: page.next ?? 0 }));
  t.deepEqual([following.rows, following.next], [entries.slice(3), undefined]);
  t.like(await t.throwsAsync(admin.listAudit(ada, ofAudit({ before: -1 }))), { kind: 'invalid' });
});

test('a change and its audit are one: where the audit cannot be written nothing has changed', async (t) => {
  const { app, admin, database, announced } = await operatorsApp(t);
  const { caller } = await signUp(app);
  const { tenantId, userId, signInId } = caller;
  const keys = (await app.getJwks()).keys.length;
  await database.transactShared(({ knex }) => knex.raw('SET LOCAL ROLE NONE; DROP TABLE operator_audit'));
  const before = announced.length;
  await t.throwsAsync(admin.setTenantSuspension(ada, { tenantId, suspended: true }));
  await t.throwsAsync(admin.setUserSuspension(ada, { userId, suspended: true }));
  await t.throwsAsync(admin.putTenantSecret(ada, { tenantId, name: 'a', value: 'b' }));
  await t.throwsAsync(admin.rotateSigningKey(ada));

  t.like(await app.resolveSignIn(signInId), { tenantSuspended: false, userSuspended: false });
  t.deepEqual(await admin.listTenantSecrets(ada, { tenantId }), []);
  t.is((await app.getJwks()).keys.length, keys);
  t.is(announced.length, before);
});

test('unknown ids are not found, and leave nothing in the audit', async (t) => {
  const { app, admin, audit } = await operatorsApp(t);
  const deleted = await signUp(app);
  await app.deleteTenant(deleted.caller);
  for (const tenantId of [deleted.caller.tenantId, 0, -1, 2 ** 31 - 1]) {
    const expected = { kind: 'notFound', message: `Tenant ${tenantId} not found` };
    t.like(await t.throwsAsync(admin.setTenantSuspension(ada, { tenantId, suspended: true })), expected);
    t.like(await t.throwsAsync(admin.setPlan(ada, { tenantId, plan: 'PRO' })), expected);
    t.like(await t.throwsAsync(admin.setMonthlyCap(ada, { tenantId, monthlyCapUsdE8: usd(1) })), expected);
    t.like(await t.throwsAsync(admin.setIdpOneBilling(ada, { tenantId, confirmed: true })), expected);
    t.like(await t.throwsAsync(admin.putTenantSecret(ada, { tenantId, name: 'a', value: 'b' })), expected);
  }
  for (const tenantId of [0, -1, 2 ** 31 - 1]) {
    const expected = { kind: 'notFound', message: `Tenant ${tenantId} not found` };
    t.like(await t.throwsAsync(admin.tenantUsage(ada, { tenantId })), expected);
    t.like(await t.throwsAsync(admin.listTenantSecrets(ada, { tenantId })), expected);
  }
  for (const userId of [0, -1, 2 ** 31 - 1]) {
    const expected = { kind: 'notFound', message: `User ${userId} not found` };
    t.like(await t.throwsAsync(admin.setUserSuspension(ada, { userId, suspended: true })), expected);
    t.like(await t.throwsAsync(admin.removeTwoFactor(ada, { userId })), expected);
    t.like(await t.throwsAsync(admin.revokeSignIns(ada, { userId })), expected);
  }
  t.deepEqual(await audit(), []);
});

test('operators who suspend and restore at once, on two replicas, leave an audit that ends in the state of the tenant', async (t) => {
  const { app, admin, elsewhere, audit } = await operatorsApp(t);
  const other = await elsewhere();
  const { tenantId } = (await signUp(app)).caller;
  await Promise.all(
    Array.from({ length: 12 }, (_, n) =>
      (n % 2 ? admin : other).setTenantSuspension(operator(`op${n % 2}`), { tenantId, suspended: n % 3 > 0 }),
    ),
  );
  const entries = (await audit({ tenant: tenantId })).toReversed();
  t.is(entries.length, 12);
  let suspended = false;
  for (const { action, facts } of entries) {
    const wanted = action === 'suspend-tenant';
    t.deepEqual(facts, wanted === suspended ? {} : { suspendedByOperator: [suspended, wanted] });
    suspended = wanted;
  }
  t.is((await admin.listTenants(ada, ofTenants({ id: tenantId }))).rows[0]?.suspendedByOperator, suspended);
});

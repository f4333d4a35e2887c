import { parsePrices } from '@parley/metering/parse-prices';
import { TenantDeleted } from '@parley/protos/parley/identity/v1/events';
import test from 'ava';
import { addMember, anonymous, callerOf, identityApp, mesh, signUp, switched } from './support/identity-app.ts';

const password = 'correct horse battery';

test('createTenant: the caller owns the tenant, and only this sign-in switches to it', async (t) => {
  const { app, announced } = await identityApp(t);
  const { caller, input } = await signUp(app);
  const elsewhere = await callerOf(app, await app.login(anonymous, { email: input.email, password }));
  const tenant = await app.createTenant(caller, {
    name: 'Second',
    region: 'eu-1',
    llmProviderOverride: 'HOSTED_SMALL_MODEL',
  });

  t.like(tenant, {
    name: 'Second',
    plan: 'DEV',
    region: 'eu-1',
    llmProviderOverride: 'HOSTED_SMALL_MODEL',
    llmModelOverride: null,
  });
  t.deepEqual(announced.at(-1), { $case: 'signInId', value: caller.signInId });
  t.is((await app.resolveSignIn(caller.signInId)).tenantId, tenant.id);
  t.is((await app.resolveSignIn(elsewhere.signInId)).tenantId, caller.tenantId);
  const inSecond = { ...caller, tenantId: tenant.id };
  t.is((await app.getAvatarConfig(inSecond)).glbModel, 'aria.glb');
  await t.notThrowsAsync(app.generateApiKey(inSecond));
});

test('a user may own five live tenants and create ten in thirty days, also concurrently', async (t) => {
  const { app, advance } = await identityApp(t);
  const { caller } = await signUp(app);
  const deleteTenant = async (id: number) => app.deleteTenant(await switched(app, caller, id));
  const outcomes = await Promise.allSettled(
    Array.from({ length: 7 }, (_, n) => app.createTenant(caller, { name: `T${n}` })),
  );
  const made = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  t.is(made.length, 4); // the fifth tenant was created by the registration
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') t.like(outcome.reason, { kind: 'invalid', reason: 'TENANT_LIMIT' });
  }

  for (const { id } of made) await deleteTenant(id);
  for (let n = 0; n < 4; n += 1) made.push(await app.createTenant(caller, { name: 'again' }));
  await deleteTenant(made.at(-1)?.id ?? 0);
  await app.createTenant(caller, { name: 'tenth' });
  await deleteTenant(made.at(-2)?.id ?? 0);
  const error = await t.throwsAsync(app.createTenant(caller, { name: 'eleventh' }));
  t.like(error, { reason: 'TENANT_LIMIT', message: 'You have made 10 tenants of at most 10 within 30 days' });
  advance(31 * 24 * 60 * 60 * 1000);
  await t.notThrowsAsync(app.createTenant(caller, { name: 'a month later' }));
});

test("updateTenant: the caller's own tenant keeps omitted fields, null clears overrides and region, and is refused elsewhere", async (t) => {
  const { app, announced } = await identityApp(t);
  const { caller } = await signUp(app);
  const all = {
    name: 'New',
    region: 'x',
    llmProviderOverride: 'CLOUD_HOSTED_MODELS',
    llmModelOverride: 'gpt-4o',
  } as const;
  t.like(await app.updateTenant(caller, all), all);
  t.deepEqual(announced.at(-1), { $case: 'tenantId', value: caller.tenantId });
  t.like(await app.updateTenant(caller, {}), all);
  t.like(await app.updateTenant(caller, { llmProviderOverride: null }), { ...all, llmProviderOverride: null });
  t.like(await app.updateTenant(caller, { llmModelOverride: null, region: null }), {
    name: 'New',
    llmModelOverride: null,
    region: null,
  });

  for (const name of ['name', 'plan', 'isSuspended'] as const) {
    const error = await t.throwsAsync(app.updateTenant(caller, { llmModelOverride: 'gpt-4o-mini', [name]: null }));
    t.like(error, { kind: 'invalid', fields: [{ path: `input.${name}`, message: 'must not be null' }] });
  }
  for (const refused of [
    { name: '' },
    { name: 'x'.repeat(256) },
    { name: 'a\0' },
    { region: 'r'.repeat(33) },
    { llmModelOverride: ' ' },
  ]) {
    t.like(await t.throwsAsync(app.updateTenant(caller, refused)), { kind: 'invalid' });
  }
  t.like(await app.myTenant(caller), { name: 'New', llmModelOverride: null });
});

test('llmModelOverride names a model with a price that is not 0', async (t) => {
  const costs = (each: number) => ({ input_cost_per_token: each, output_cost_per_token: each });
  const { prices } = parsePrices(
    JSON.stringify({ free: costs(0), priced: costs(1e-6), embedder: { ...costs(1e-6), mode: 'embedding' } }),
  );
  const { app } = await identityApp(t, { prices: { find: (id) => prices.get(id) } });
  const { caller } = await signUp(app);
  t.is((await app.updateTenant(caller, { llmModelOverride: 'priced' })).llmModelOverride, 'priced');
  for (const llmModelOverride of ['free', 'unknown']) {
    const refused = {
      kind: 'invalid',
      fields: [{ path: 'input.llmModelOverride', message: 'names a model that has no price here' }],
    };
    t.like(await t.throwsAsync(app.updateTenant(caller, { llmModelOverride })), refused);
    t.like(await t.throwsAsync(app.createTenant(caller, { name: 'x', llmModelOverride })), refused);
  }
  t.like(await t.throwsAsync(app.updateTenant(caller, { llmModelOverride: 'embedder' })), {
    kind: 'invalid',
    fields: [{ path: 'input.llmModelOverride', message: 'names a model of embeddings, which writes no text' }],
  });
});

test("llmModelOverride names the operator's own model too, which may cost nothing", async (t) => {
  const { app } = await identityApp(t, { prices: { find: () => undefined }, ownCloudModel: 'own' });
  const { caller } = await signUp(app);
  t.is((await app.updateTenant(caller, { llmModelOverride: 'own' })).llmModelOverride, 'own');
  t.like(await t.throwsAsync(app.updateTenant(caller, { llmModelOverride: 'other' })), { kind: 'invalid' });
});

test('with REGIONS set, region must be one of them', async (t) => {
  const { app } = await identityApp(t, { regions: ['eu', 'us'] });
  const { caller } = await signUp(app);
  t.is((await app.updateTenant(caller, { region: 'eu' })).region, 'eu');
  t.like(await t.throwsAsync(app.updateTenant(caller, { region: 'mars' })), {
    kind: 'invalid',
    fields: [{ path: 'input.region' }],
  });
  t.like(await t.throwsAsync(app.createTenant(caller, { name: 'x', region: 'EU' })), { kind: 'invalid' });
  t.like(await t.throwsAsync(app.createTenant(caller, { name: ' ', region: 'mars' })), {
    fields: [{ path: 'input.name' }, { path: 'input.region', message: 'must be one of eu, us' }],
  });
});

test('a member can read and rename the tenant; plan, suspension, deletion and API key are for the owner', async (t) => {
  const identity = await identityApp(t);
  const { app } = identity;
  const { caller: owner } = await signUp(app);
  const member = await addMember(identity, (await signUp(app)).caller, owner.tenantId);

  t.is((await app.myTenant(member))?.id, owner.tenantId);
  t.is((await app.updateTenant(member, { name: 'By a member' })).name, 'By a member');
  const refused = { kind: 'forbidden', reason: 'OWNER_ONLY' };
  t.like(await t.throwsAsync(app.updateTenant(member, { name: 'No', plan: 'DEV' })), refused);
  t.like(await t.throwsAsync(app.updateTenant(member, { isSuspended: false })), refused);
  t.like(await t.throwsAsync(app.deleteTenant(member)), refused);
  t.like(await t.throwsAsync(app.generateApiKey(member)), refused);
  t.is((await app.myTenant(owner))?.name, 'By a member');
});

test('with PLAN_CHANGES=operator an update that raises the plan is refused as a whole, and lowering is allowed', async (t) => {
  const { app, database } = await identityApp(t, { planChanges: 'operator' });
  const { caller } = await signUp(app);
  const refused = { kind: 'forbidden', reason: 'PLAN_CHANGE_BY_OPERATOR' };
  t.like(await t.throwsAsync(app.updateTenant(caller, { name: 'No', plan: 'PRO' })), refused);
  t.like(await t.throwsAsync(app.createTenant(caller, { name: 'No', plan: 'ENTERPRISE' })), refused);
  t.not((await app.myTenant(caller))?.name, 'No');

  await database.transactShared(({ knex }) => knex('tenants').update({ plan: 'ENTERPRISE' }));
  t.is((await app.updateTenant(caller, { plan: 'ENTERPRISE' })).plan, 'ENTERPRISE');
  t.is((await app.updateTenant(caller, { plan: 'PRO' })).plan, 'PRO');
  t.like(await t.throwsAsync(app.updateTenant(caller, { plan: 'ENTERPRISE' })), refused);
});

test('with PLAN_CHANGES=self the owner can raise the plan', async (t) => {
  const { app } = await identityApp(t, { planChanges: 'self' });
  const { caller } = await signUp(app);
  t.is((await app.updateTenant(caller, { plan: 'ENTERPRISE' })).plan, 'ENTERPRISE');
  t.is((await app.createTenant(caller, { name: 'x', plan: 'PRO' })).plan, 'PRO');
});

test('states: updateTenant sets isSuspended as given; an owner cannot lift the suspension of an operator', async (t) => {
  const { app, database } = await identityApp(t);
  const { caller } = await signUp(app);
  const byOperator = (on: boolean) =>
    database.transactShared(({ knex }) => knex('tenants').update({ suspended_by_operator: on }));
  t.true((await app.updateTenant(caller, { isSuspended: true })).isSuspended);
  t.true((await app.resolveSignIn(caller.signInId)).tenantSuspended);
  t.false((await app.updateTenant(caller, { isSuspended: false })).isSuspended);

  await byOperator(true);
  t.true((await app.myTenant(caller))?.isSuspended);
  const error = await t.throwsAsync(app.updateTenant(caller, { name: 'No', isSuspended: false }));
  t.like(error, { kind: 'forbidden', reason: 'SUSPENDED_BY_OPERATOR' });
  t.true((await app.updateTenant(caller, { isSuspended: true })).isSuspended);
  await byOperator(false);
  t.true((await app.myTenant(caller))?.isSuspended); // the tenant's own suspension remains
});

test("deleteTenant, states: the caller's own tenant gets deletedAt and loses key and members, and the event is published", async (t) => {
  const identity = await identityApp(t);
  const { app, database, announced } = identity;
  const { caller: owner, input } = await signUp(app);
  const tenantId = owner.tenantId;
  const member = await addMember(identity, (await signUp(app)).caller, tenantId);
  const { key } = await app.generateApiKey(owner);
  t.true(await app.deleteTenant(owner));

  t.deepEqual(announced.at(-1), { $case: 'tenantId', value: tenantId });
  for (const { signInId } of [owner, member]) t.is((await app.resolveSignIn(signInId)).tenantId, null);
  t.like(await t.throwsAsync(app.resolveApiKey(await sha256(key))), { kind: 'notFound' });
  t.is(await app.myTenant(owner), null); // the result is the same while a gateway still caches the tenant
  t.like(await t.throwsAsync(app.updateTenant(owner, { name: 'x' })), { reason: 'NO_TENANT' });
  t.like(await app.getTenant(mesh, tenantId), { id: tenantId });
  t.true((await app.getTenant(mesh, tenantId)).deletedAt instanceof Date);

  const events = await database.transactShared(({ knex }) => knex('outbox'));
  t.like(events, [{ topic: 'tenant-deleted', type: 'tenant.deleted.v1', key: String(tenantId), tenantId }]);
  const { deletedAt } = await app.getTenant(mesh, tenantId);
  t.deepEqual(TenantDeleted.decode(events[0].data), { tenantId, deletedAt: deletedAt ?? undefined });

  const again = await callerOf(app, await app.login(anonymous, { email: input.email, password }));
  t.is(again.tenantId, null);
  const made = await app.createTenant(again, { name: 'A new start' });
  t.is((await app.resolveSignIn(again.signInId)).tenantId, made.id);
});

test('myTenant: null for a user without a tenant, whose account operations work; tenant operations are NO_TENANT', async (t) => {
  const { app } = await identityApp(t);
  const { caller } = await signUp(app);
  await app.deleteTenant(caller);
  const withoutTenant = { ...caller, tenantId: null };

  t.is(await app.myTenant(withoutTenant), null);
  t.is((await app.getAuthProfile(withoutTenant))?.id, caller.userId);
  t.true(await app.changePassword(withoutTenant, { newPassword: 'another long password' }));
  const refused = { kind: 'forbidden', reason: 'NO_TENANT' };
  for (const call of [
    () => app.getAvatarConfig(withoutTenant),
    () => app.upsertAvatarConfig(withoutTenant, {}),
    () => app.updateTenant(withoutTenant, { name: 'x' }),
    () => app.deleteTenant(withoutTenant),
    () => app.setPrimaryBillingAccount(withoutTenant, { billingAccount: 'IDP_ONE' }),
    () => app.generateApiKey(withoutTenant),
  ]) {
    t.like(await t.throwsAsync(async () => call()), refused);
  }
});

test('anonymous callers, services and API keys cannot use operations of signed-in users', async (t) => {
  const { app } = await identityApp(t);
  const { caller } = await signUp(app);
  const key = { kind: 'apiKey', tenantId: caller.tenantId, apiKeyId: 1, requestId: 'test' } as const;
  for (const other of [anonymous, mesh, key]) {
    const inTenant = { ...other, tenantId: caller.tenantId }; // `tenantRequest` refuses these callers if they have no tenant
    for (const call of [
      () => app.getAuthProfile(other),
      () => app.myTenant(other),
      () => app.myTenants(other),
      () => app.switchTenant(other, { id: caller.tenantId }),
      () => app.setPrimaryBillingAccount(inTenant, { billingAccount: 'IDP_ONE' }),
      () => app.generateTwoFactor(other),
      () => app.bindTwoFactor(other, { secret: 'x', code: '000000' }),
      () => app.verifyTwoFactor(other, { code: '000000' }),
      () => app.unbindTwoFactor(other, { code: '000000' }),
      () => app.changePassword(other, { newPassword: 'another long password' }),
      () => app.createTenant(other, { name: 'x' }),
      () => app.generateApiKey(inTenant),
    ]) {
      t.like(await t.throwsAsync(async () => call()), { kind: 'unauthenticated' });
    }
  }
});

test('a tenant cannot be changed by non-members, and is not found for other tenants', async (t) => {
  const { app } = await identityApp(t);
  const { caller: ada } = await signUp(app);
  const { caller: eve } = await signUp(app);
  const forged = { ...eve, tenantId: ada.tenantId };

  t.like(await t.throwsAsync(app.updateTenant(forged, { name: 'Mine' })), { reason: 'NO_TENANT' });
  t.like(await t.throwsAsync(app.deleteTenant(forged)), { reason: 'NO_TENANT' });
  t.like(await t.throwsAsync(app.setPrimaryBillingAccount(forged, { billingAccount: 'IDP_ONE' })), {
    reason: 'NO_TENANT',
  });
  t.like(await t.throwsAsync(app.generateApiKey(forged)), { reason: 'NO_TENANT' });
  const foreign = await t.throwsAsync(app.getTenant(eve, ada.tenantId));
  const absent = await t.throwsAsync(app.getTenant(eve, 2_147_483_647));
  t.like(foreign, { kind: 'notFound', message: `Tenant ${ada.tenantId} not found` });
  t.like(absent, { kind: 'notFound' });
  t.is((await app.getTenant(ada, ada.tenantId)).id, ada.tenantId);
});

async function sha256(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
}

import { answerBudget } from '@parley/kernel/answer-budget';
import { answerDatabase } from '@parley/postgres/database/answer-database';
import type { Database } from '@parley/postgres/database/types';
import { requestOf } from '@parley/testing/request-of';
import test from 'ava';
import type { UserCaller } from '../src/sign-ins/signed-in.ts';
import { myTenants } from '../src/tenants/my-tenants.ts';
import {
  type App,
  addMember,
  anonymous,
  callerOf,
  type IdentityApp,
  identityApp,
  mesh,
  signUp,
  switched,
} from './support/identity-app.ts';

const password = 'correct horse battery';
type Member = UserCaller & { tenantId: number };

const idsOf = async (app: App, caller: UserCaller) => (await app.myTenants(caller)).map(({ id }) => id);
const tenantOf = async (app: App, { signInId }: UserCaller) => (await app.resolveSignIn(signInId)).tenantId;
const signInAgain = async (app: App, email: string) => callerOf(app, await app.login(anonymous, { email, password }));

const ownersOnly: Record<string, (app: App, caller: Member) => Promise<unknown>> = {
  plan: (app, caller) => app.updateTenant(caller, { plan: 'PRO' }),
  isSuspended: (app, caller) => app.updateTenant(caller, { isSuspended: false }),
  setPrimaryBillingAccount: (app, caller) => app.setPrimaryBillingAccount(caller, { billingAccount: 'IDP_ONE' }),
  generateApiKey: (app, caller) => app.generateApiKey(caller),
  deleteTenant: (app, caller) => app.deleteTenant(caller),
};

const everyMembers: Record<string, (app: App, caller: Member) => Promise<unknown>> = {
  myTenant: (app, caller) => app.myTenant(caller),
  avatarConfig: (app, caller) => app.getAvatarConfig(caller),
  upsertAvatarConfig: (app, caller) => app.upsertAvatarConfig(caller, { speakingRate: 2 }),
  apiUsageSummary: (app, caller) => app.apiUsageSummary(caller),
  name: (app, caller) => app.updateTenant(caller, { name: 'By a member', region: 'eu', llmModelOverride: null }),
};

const removeMember = (database: Database, userId: number, tenantId: number) =>
  database.transactShared(({ knex }) => knex('memberships').where({ userId, tenantId }).delete());

async function passOwnership({ database }: IdentityApp, tenantId: number, from: UserCaller, to: UserCaller) {
  await database.transactShared(async ({ knex }) => {
    await knex('memberships').where({ tenantId, userId: from.userId }).update({ role: 'MEMBER' });
    await knex('memberships').where({ tenantId, userId: to.userId }).update({ role: 'OWNER' });
  });
}

test('myTenants has the live tenants that a user owns or is a member of, oldest first, and no others', async (t) => {
  const identity = await identityApp(t);
  const { app, database } = identity;
  const { caller: owner } = await signUp(app);
  const { caller: ada } = await signUp(app);
  const { caller: eve } = await signUp(app);
  const second = await app.createTenant(ada, { name: 'Second', region: 'eu', llmModelOverride: 'gpt-4o' });
  await addMember(identity, ada, owner.tenantId);
  t.deepEqual(await idsOf(app, ada), [owner.tenantId, ada.tenantId, second.id]);
  t.deepEqual(await idsOf(app, eve), [eve.tenantId]);
  const [, , whole] = await app.myTenants(ada);
  t.like(whole, second);

  await database.transactShared(({ knex }) =>
    knex('tenants').where({ id: owner.tenantId }).update({ suspendedByOperator: true }),
  );
  t.true((await app.myTenants(ada))[0]?.isSuspended);
  await app.deleteTenant(await switched(app, ada, second.id));
  t.deepEqual(await idsOf(app, { ...ada, tenantId: null }), [owner.tenantId, ada.tenantId]);
});

test('myTenants counts towards the answer budget', async (t) => {
  const { app, ports } = await identityApp(t);
  const { caller } = await signUp(app);
  await app.createTenant(caller, { name: 'Second' });
  const within = (bytes: number) => {
    const fields = { times: () => 1, objectBytes: 100 };
    return myTenants({ database: answerDatabase(ports.database, answerBudget(bytes), fields) }, requestOf(caller));
  };
  t.is((await within(200)).length, 2);
  t.like(await t.throwsAsync(within(199)), { kind: 'invalid', reason: 'ANSWER_TOO_LARGE' });
});

test('switchTenant switches only this sign-in, and new sign-ins start in that tenant', async (t) => {
  const { app, announced } = await identityApp(t);
  const { caller, input } = await signUp(app);
  const tab = await signInAgain(app, input.email);
  const second = await app.createTenant(caller, { name: 'Second' });
  t.like(await app.switchTenant(caller, { id: caller.tenantId }), { id: caller.tenantId });
  t.deepEqual(announced.at(-1), { $case: 'signInId', value: caller.signInId });

  t.deepEqual(await app.switchTenant(tab, { id: second.id }), second);
  t.is(await tenantOf(app, tab), second.id);
  t.is(await tenantOf(app, caller), caller.tenantId, 'the first tab stays');
  t.is((await signInAgain(app, input.email)).tenantId, second.id, 'the last chosen one');
  await app.updateTenant(caller, { name: 'Changed in the first tab' });
  await app.updateTenant({ ...tab, tenantId: second.id }, { name: 'Changed in the second' });
  t.deepEqual(
    (await app.myTenants(caller)).map(({ name }) => name),
    ['Changed in the first tab', 'Changed in the second'],
  );
});

test('switchTenant gives the same error for a foreign, deleted or absent tenant, and changes nothing', async (t) => {
  const { app } = await identityApp(t);
  const { caller: ada, input } = await signUp(app);
  const { caller: eve } = await signUp(app);
  const deleted = await app.createTenant(ada, { name: 'Deleted' });
  await app.deleteTenant({ ...ada, tenantId: deleted.id });
  await app.switchTenant(ada, { id: ada.tenantId });
  for (const id of [eve.tenantId, deleted.id, 0, -1, 2_147_483_647]) {
    t.like(await t.throwsAsync(app.switchTenant(ada, { id })), {
      kind: 'notFound',
      message: `Tenant ${id} not found`,
      reason: undefined,
    });
  }
  t.is(await tenantOf(app, ada), ada.tenantId);
  t.is((await signInAgain(app, input.email)).tenantId, ada.tenantId);
  t.is(await tenantOf(app, eve), eve.tenantId);
});

test('a member of a suspended tenant, and a user without one, can list and switch', async (t) => {
  const identity = await identityApp(t);
  const { app, database } = identity;
  const { caller } = await signUp(app);
  const second = await app.createTenant(caller, { name: 'Second' });
  await database.transactShared(({ knex }) =>
    knex('tenants').where({ id: second.id }).update({ suspendedByOperator: true }),
  );
  const suspended = { ...caller, tenantId: second.id };
  t.deepEqual(await idsOf(app, suspended), [caller.tenantId, second.id]);
  await t.notThrowsAsync(app.switchTenant(suspended, { id: caller.tenantId }));
  t.true((await app.switchTenant(caller, { id: second.id })).isSuspended);
  t.true((await app.resolveSignIn(caller.signInId)).tenantSuspended);

  t.true(await app.deleteTenant(suspended));
  const none = { ...caller, tenantId: null };
  t.is(await tenantOf(app, none), null);
  t.deepEqual(await idsOf(app, none), [caller.tenantId]);
  await app.switchTenant(none, { id: caller.tenantId });
  t.is(await tenantOf(app, none), caller.tenantId);
});

test('a switch to a tenant that is deleted at the same moment leaves the sign-in in none, or is refused', async (t) => {
  const identity = await identityApp(t);
  const { app } = identity;
  const { caller: owner } = await signUp(app);
  const { caller: member } = await signUp(app);
  const inOwners = await addMember(identity, member, owner.tenantId);
  await app.switchTenant(inOwners, { id: member.tenantId });
  const [deleted, ...switches] = await Promise.allSettled([
    app.deleteTenant(owner),
    ...Array.from({ length: 5 }, () => app.switchTenant(member, { id: owner.tenantId })),
  ]);
  t.is(deleted.status, 'fulfilled');
  for (const each of switches) if (each.status === 'rejected') t.like(each.reason, { kind: 'notFound' });
  const now = await tenantOf(app, member);
  t.true(now === null || now === member.tenantId);
  t.like(await t.throwsAsync(app.updateTenant(inOwners, { name: 'x' })), { reason: 'NO_TENANT' });
  t.is((await app.getTenant(mesh, owner.tenantId)).deletedAt === null, false);
});

test("the second user of a company's tenant uses it and may do nothing that is its owner's; it counts as owned by the first", async (t) => {
  const identity = await identityApp(t);
  const { app } = identity;
  const { caller: first } = await signUp(app);
  const company = await app.createTenant(first, { name: 'Analytical Engines' });
  const owner = { ...first, tenantId: company.id };
  const { caller } = await signUp(app);
  const second = await addMember(identity, caller, company.id);

  for (const [name, call] of Object.entries(everyMembers)) await t.notThrowsAsync(call(app, second), name);
  for (const [name, call] of Object.entries(ownersOnly)) {
    t.like(await t.throwsAsync(call(app, second)), { kind: 'forbidden', reason: 'OWNER_ONLY' }, name);
  }
  t.like(await app.myTenant(owner), { name: 'By a member', plan: 'DEV', primaryBillingAccount: 'PLATFORM' });
  for (let n = 0; n < 4; n += 1) await app.createTenant(second, { name: 'own' });
  t.like(await t.throwsAsync(app.createTenant(second, { name: 'a sixth' })), { reason: 'TENANT_LIMIT' });
  for (const [name, call] of Object.entries(ownersOnly)) await t.notThrowsAsync(call(app, owner), name);
});

test('a removed member is in no tenant at once, cannot come back, and keeps its own', async (t) => {
  const identity = await identityApp(t);
  const { app, database } = identity;
  const { caller: owner } = await signUp(app);
  const { caller, input } = await signUp(app);
  const member = await addMember(identity, caller, owner.tenantId);
  await removeMember(database, caller.userId, owner.tenantId);

  t.is(await tenantOf(app, member), null);
  const mutations = { ...ownersOnly, upsert: everyMembers['upsertAvatarConfig'], rename: everyMembers['name'] };
  for (const [name, call] of Object.entries(mutations)) {
    t.like(await t.throwsAsync(async () => call?.(app, member)), { kind: 'forbidden', reason: 'NO_TENANT' }, name);
  }
  t.like(await t.throwsAsync(app.switchTenant(member, { id: owner.tenantId })), { kind: 'notFound' });
  t.deepEqual(await idsOf(app, member), [caller.tenantId]);
  const again = await signInAgain(app, input.email);
  t.is(again.tenantId, null, 'the last chosen tenant is no longer theirs');
  t.like(await switched(app, again, caller.tenantId).then((own) => app.myTenant(own)), { id: caller.tenantId });
  t.is(await tenantOf(app, owner), owner.tenantId);
});

test('a suspended member may do nothing anywhere; the owner goes on, and so does the member once restored', async (t) => {
  const identity = await identityApp(t);
  const { app, database } = identity;
  const { caller: owner } = await signUp(app);
  const { caller, input } = await signUp(app);
  const member = await addMember(identity, caller, owner.tenantId);
  const set = (status: string) =>
    database.transactShared(({ knex }) => knex('users').where({ id: member.userId }).update({ status }));
  await set('SUSPENDED');

  const suspended = { kind: 'forbidden', reason: 'USER_SUSPENDED' };
  t.true((await app.resolveSignIn(member.signInId)).userSuspended);
  t.like(await t.throwsAsync(app.login(anonymous, { email: input.email, password })), suspended);
  for (const call of [
    () => app.updateTenant(member, { name: 'No' }),
    () => app.upsertAvatarConfig(member, { speakingRate: 2 }),
    () => app.switchTenant(member, { id: caller.tenantId }),
    () => app.createTenant(member, { name: 'No' }),
    () => app.generateTwoFactor(member),
    () => app.verifyTwoFactor(member, { code: '000000' }),
  ]) {
    t.like(await t.throwsAsync(async () => call()), suspended);
  }
  t.like(await app.updateTenant(owner, { name: 'Goes on' }), { isSuspended: false });
  t.false((await app.resolveSignIn(owner.signInId)).userSuspended);

  await set('ACTIVE');
  t.is((await app.updateTenant(member, { name: 'Is back' })).name, 'Is back');
});

test('when ownership is passed on, the new owner has all rights of one, the former those of a member', async (t) => {
  const identity = await identityApp(t);
  const { app } = identity;
  const { caller: former } = await signUp(app);
  const { caller } = await signUp(app);
  const next = await addMember(identity, caller, former.tenantId);
  for (let n = 0; n < 4; n += 1) await app.createTenant(former, { name: 'own' });
  await app.switchTenant(former, { id: former.tenantId });
  t.like(await t.throwsAsync(app.createTenant(former, { name: 'a sixth' })), { reason: 'TENANT_LIMIT' });
  await passOwnership(identity, former.tenantId, former, next);

  for (const [name, call] of Object.entries(ownersOnly)) {
    t.like(await t.throwsAsync(call(app, former)), { kind: 'forbidden', reason: 'OWNER_ONLY' }, name);
  }
  for (const [name, call] of Object.entries(everyMembers)) await t.notThrowsAsync(call(app, former), name);
  await t.notThrowsAsync(app.createTenant(former, { name: 'owned instead' }));
  await app.switchTenant(former, { id: former.tenantId });
  for (const [name, call] of Object.entries(ownersOnly)) await t.notThrowsAsync(call(app, next), name);
  t.is(await tenantOf(app, former), null, 'the new owner has deleted it');
});

import { readFileSync } from 'node:fs';
import type { TransactOptions } from '@parley/postgres/database/types';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import { requestOf } from '@parley/testing/request-of';
import test from 'ava';
import { Kind, type ObjectTypeDefinitionNode, parse, print } from 'graphql';
import type { UserCaller } from '../src/sign-ins/signed-in.ts';
import {
  type App,
  addMember,
  anonymous,
  callerOf,
  type IdentityApp,
  identityApp,
  signUp,
} from './support/identity-app.ts';
import { isWaitedFor } from './support/is-waited-for.ts';

const password = 'correct horse battery';
const newPassword = 'another long password';
const refused = { kind: 'unauthenticated', message: 'Not signed in' };

type Mutations = Record<string, (app: App, caller: UserCaller, signal?: AbortSignal) => Promise<unknown>>;

const ofTenant: Mutations = {
  updateTenant: (app, caller, signal) => app.updateTenant(requestOf(caller, { signal }), { name: 'By a thief' }),
  generateApiKey: (app, caller, signal) => app.generateApiKey(requestOf(caller, { signal })),
  upsertAvatarConfig: (app, caller, signal) =>
    app.upsertAvatarConfig(requestOf(caller, { signal }), { speakingRate: 3 }),
  setPrimaryBillingAccount: (app, caller, signal) =>
    app.setPrimaryBillingAccount(requestOf(caller, { signal }), { billingAccount: 'IDP_ONE' }),
  deleteTenant: (app, caller, signal) => app.deleteTenant(requestOf(caller, { signal })),
};

/** Every mutation that accepts an access token. */
const mutations: Mutations = {
  linkIdentity: (app, caller, signal) =>
    app.linkIdentity(requestOf(caller, { signal }), { provider: 'PASSWORD', providerToken: newPassword }),
  unlinkIdentity: (app, caller, signal) => app.unlinkIdentity(requestOf(caller, { signal }), { provider: 'IDP_ONE' }),
  changePassword: (app, caller, signal) => app.changePassword(requestOf(caller, { signal }), { newPassword }),
  createTenant: (app, caller, signal) => app.createTenant(requestOf(caller, { signal }), { name: 'By a thief' }),
  switchTenant: (app, caller, signal) => app.switchTenant(requestOf(caller, { signal }), { id: caller.tenantId ?? 0 }),
  generateTwoFactor: (app, caller, signal) => app.generateTwoFactor(requestOf(caller, { signal })),
  // The three calls with a wrong code are refused, but only after they have locked the user's row.
  bindTwoFactor: (app, caller, signal) =>
    app.bindTwoFactor(requestOf(caller, { signal }), { secret: 'guessed', code: '000000' }),
  verifyTwoFactor: (app, caller, signal) => app.verifyTwoFactor(requestOf(caller, { signal }), { code: '000000' }),
  unbindTwoFactor: (app, caller, signal) => app.unbindTwoFactor(requestOf(caller, { signal }), { code: '000000' }),
  ...ofTenant,
};

test('the tests below cover every mutation that accepts an access token', (t) => {
  const schema = parse(readFileSync(new URL('../src/schema.graphql', import.meta.url), 'utf8'));
  const root = schema.definitions.find(
    (each): each is ObjectTypeDefinitionNode =>
      each.kind === Kind.OBJECT_TYPE_DEFINITION && each.name.value === 'Mutation',
  );
  const signedIn = root?.fields?.filter((field) => field.directives?.some((each) => /JWT/u.test(print(each))));
  t.deepEqual(signedIn?.map(({ name }) => name.value).toSorted(), Object.keys(mutations).toSorted());
});

/** The rows that the mutations could change. */
async function stateOf({ database, app }: IdentityApp, caller: UserCaller & { tenantId: number }) {
  const { users, tenants, keys, configs } = await database.transactShared(async (db) => ({
    users: await db.knex('users').orderBy('id'),
    tenants: await db.knex('tenants').orderBy('id'),
    keys: await db.knex('api_keys').orderBy('id'),
    configs: await db.asTenant(caller.tenantId, ({ knex }) => knex('avatar_configs')),
  }));
  return { users, tenants, keys, configs, tenant: await app.myTenant(caller) };
}

test('a revoked sign-in cannot run any mutation, even if a gateway still accepts it', async (t) => {
  const identity = await identityApp(t);
  const { app, database } = identity;
  const { caller } = await signUp(app);
  await database.transactShared(({ knex }) => knex('sign_ins').update({ revoked_at: knex.fn.now() }));
  const before = await stateOf(identity, caller);
  for (const [name, call] of Object.entries(mutations)) {
    t.like(await t.throwsAsync(call(app, caller), undefined, name), refused, name);
  }
  t.deepEqual(await stateOf(identity, caller), before);
});

test('a suspended user gets USER_SUSPENDED from every mutation, a deleted one UNAUTHENTICATED', async (t) => {
  const identity = await identityApp(t);
  const { app, database } = identity;
  const { caller } = await signUp(app);
  const { caller: deleted } = await signUp(app);
  await database.transactShared(async ({ knex }) => {
    await knex('users').where({ id: caller.userId }).update({ status: 'SUSPENDED' });
    await knex('users').where({ id: deleted.userId }).update({ deleted_at: knex.fn.now() });
  });
  const before = await stateOf(identity, caller);
  for (const [name, call] of Object.entries(mutations)) {
    t.like(await t.throwsAsync(call(app, caller)), { kind: 'forbidden', reason: 'USER_SUSPENDED' }, name);
    t.like(await t.throwsAsync(call(app, deleted)), refused, name);
  }
  t.deepEqual(await stateOf(identity, caller), before);
});

for (const reason of ['TWO_FACTOR_REQUIRED', 'EMAIL_PROOF_REQUIRED'] as const) {
  test(`a sign-in that is limited by ${reason} since its gateway looked can run no mutation but verifyTwoFactor`, async (t) => {
    const identity = await identityApp(t);
    const { app, database } = identity;
    const { caller } = await signUp(app);
    await database.transactShared(({ knex }) => knex('sign_ins').update({ limited_reason: reason }));
    const before = await stateOf(identity, caller);
    for (const [name, call] of Object.entries(mutations)) {
      const expected =
        call === mutations['verifyTwoFactor']
          ? { kind: 'invalid', reason: 'TWO_FACTOR_NOT_BOUND' }
          : { kind: 'forbidden', reason };
      t.like(await t.throwsAsync(call(app, caller)), expected, name);
    }
    t.deepEqual(await stateOf(identity, caller), before);
  });
}

test('a sign-in that has switched tenants cannot change the previous one', async (t) => {
  const { app } = await identityApp(t);
  const { caller } = await signUp(app);
  const { id } = await app.createTenant(caller, { name: 'Second' });
  for (const [name, call] of Object.entries(ofTenant)) {
    t.like(await t.throwsAsync(call(app, caller)), { kind: 'conflict' }, name);
  }
  await t.notThrowsAsync(app.updateTenant({ ...caller, tenantId: id }, { name: 'Third' }));
});

test('a suspended tenant cannot get a key or new avatar defaults, but can be updated and deleted', async (t) => {
  const { app } = await identityApp(t);
  const { caller } = await signUp(app);
  await app.updateTenant(caller, { isSuspended: true });
  const suspended = { kind: 'forbidden', reason: 'TENANT_SUSPENDED' };
  t.like(await t.throwsAsync(app.generateApiKey(caller)), suspended);
  t.like(await t.throwsAsync(app.upsertAvatarConfig(caller, { speakingRate: 3 })), suspended);
  t.true((await app.updateTenant(caller, { name: 'Renamed' })).isSuspended);
  t.true(await app.deleteTenant(caller));
});

test('a sign-in that is revoked while its new password is hashed cannot set it', async (t) => {
  const { app, ports } = await identityApp(t);
  const { input, caller: owner } = await signUp(app);
  const thief = await callerOf(app, await app.login(anonymous, { email: input.email, password }));
  const { hash } = ports.passwords;
  const hashed = createGate();
  ports.passwords.hash = async (given, requester) => {
    if (given === 'the password of a thief') await hashed.pass();
    return hash(given, requester);
  };
  const late = t.throwsAsync(app.changePassword(thief, { newPassword: 'the password of a thief' }));
  t.true(await app.changePassword(owner, { newPassword }));
  hashed.open();

  t.like(await late, refused);
  await t.notThrowsAsync(app.login(anonymous, { email: input.email, password: newPassword }));
});

test('of two concurrent password changes one succeeds and revokes the other sign-in', async (t) => {
  const { app } = await identityApp(t);
  const { input, caller: owner } = await signUp(app);
  const thief = await callerOf(app, await app.login(anonymous, { email: input.email, password }));
  const passwords = ['the password of the owner', 'the password of a thief'];
  const outcomes = await Promise.allSettled(
    [owner, thief].map((caller, n) => app.changePassword(caller, { newPassword: passwords[n] ?? '' })),
  );

  t.deepEqual(outcomes.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
  for (const [n, outcome] of outcomes.entries()) {
    const login = app.login(anonymous, { email: input.email, password: passwords[n] ?? '' });
    if (outcome.status === 'fulfilled') await t.notThrowsAsync(login);
    else {
      t.like(outcome.reason, refused);
      await t.throwsAsync(login);
    }
  }
});

test('a mutation waits for a concurrent revocation of its sign-in and is then refused', async (t) => {
  const identity = await identityApp(t);
  const { app, database } = identity;
  const { input, caller: owner } = await signUp(app);
  const thief = await callerOf(app, await app.login(anonymous, { email: input.email, password }));
  const before = await stateOf(identity, owner);
  const [locked, enough] = [createGate(), createGate()];
  const revoking = database.transactShared(async ({ knex }) => {
    await knex('users').where({ id: owner.userId }).forNoKeyUpdate().first('id');
    locked.open();
    await enough.pass();
    await isWaitedFor(knex);
    await knex('sign_ins').where({ id: thief.signInId }).update({ revoked_at: knex.fn.now() });
  });
  await locked.pass();
  let started = 0;
  const calls = Object.values(mutations).map(async (call) => {
    started += 1;
    return t.throwsAsync(call(app, thief));
  });
  await eventually('all have started', () => started === calls.length);
  enough.open();
  await revoking;

  for (const error of await Promise.all(calls)) t.like(error, refused);
  t.deepEqual(await stateOf(identity, owner), before);
});

test('concurrent updates by a member commit before the deletion of the tenant or are refused', async (t) => {
  const identity = await identityApp(t);
  const { app } = identity;
  const { caller: owner } = await signUp(app);
  const inTenant = await addMember(identity, (await signUp(app)).caller, owner.tenantId);
  const renames = Array.from({ length: 5 }, (_, n) => app.updateTenant(inTenant, { name: `Renamed ${n}` }));
  const [deleted, ...rest] = await Promise.allSettled([app.deleteTenant(owner), ...renames]);

  t.deepEqual(deleted, { status: 'fulfilled', value: true });
  for (const each of rest) {
    if (each.status === 'rejected') t.like(each.reason, { kind: 'forbidden', reason: 'NO_TENANT' });
  }
});

test('every operation that locks a user or tenant row is queued by it, with its abort signal', async (t) => {
  const { app, ports } = await identityApp(t);
  const { caller, input, tokens } = await signUp(app);
  const { userId: user, tenantId: tenant } = caller;
  const { transactShared } = ports.database;
  let last: TransactOptions | undefined;
  ports.database = {
    ...ports.database,
    transactShared: (work, how) => {
      last = how;
      return transactShared(work, how);
    },
  };
  const { signal } = new AbortController();
  const attempts: typeof mutations = {
    login: () => app.login(requestOf(anonymous, { signal }), { email: input.email, password }),
    refreshToken: () => app.refreshSignIn(requestOf(anonymous, { signal }), tokens),
    ...mutations,
  };
  for (const [name, call] of Object.entries(attempts)) {
    await app.switchTenant(caller, { id: tenant }); // undoes the switch that createTenant made
    await call(app, caller, signal).catch((error: unknown) => t.like(error, { kind: 'invalid' }, name));
    t.is(last?.signal, signal, name);
    t.deepEqual([last?.lockQueue?.user, last?.lockQueue?.tenant], [user, name in ofTenant ? tenant : undefined], name);
  }
});

test('an aborted mutation leaves the queue of its user and changes nothing', async (t) => {
  const { app, database } = await identityApp(t);
  const { caller } = await signUp(app);
  const gate = createGate();
  const first = database.transactShared(gate.pass, { lockQueue: { user: caller.userId } });
  const controller = new AbortController();
  const refusal = t.throwsAsync(
    app.updateTenant(requestOf(caller, { signal: controller.signal }), { name: 'Too late' }),
  );
  controller.abort();
  gate.open();
  t.like(await refusal, { kind: 'unavailable', message: 'The caller has gone' });
  await first;
  t.not((await app.myTenant(caller))?.name, 'Too late');
});

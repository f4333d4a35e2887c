import { readFileSync } from 'node:fs';
import type { TransactOptions } from '@parley/postgres/database/types';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import { defaultEngine } from '@parley/testing/test-database';
import test from 'ava';
import { Kind, type ObjectTypeDefinitionNode, parse, print } from 'graphql';
import type { Knex } from 'knex';
import type { UserCaller } from '../src/signed-in.ts';
import {
  type App,
  anonymous,
  callerOf,
  type IdentityApp,
  identityApp,
  signUp,
  switchTenant,
} from './support/identity-app.ts';

const password = 'correct horse battery';
const newPassword = 'another long password';
const refused = { kind: 'unauthenticated', message: 'Not signed in' };

type Mutations = Record<string, (app: App, caller: UserCaller, signal?: AbortSignal) => Promise<unknown>>;

const ofTenant: Mutations = {
  updateTenant: (app, caller, signal) => app.updateTenant(caller, { name: 'By a thief' }, signal),
  generateApiKey: (app, caller, signal) => app.generateApiKey(caller, signal),
  upsertAvatarConfig: (app, caller, signal) => app.upsertAvatarConfig(caller, { speakingRate: 3 }, signal),
  deleteTenant: (app, caller, signal) => app.deleteTenant(caller, signal),
};

/** Every mutation that accepts an access token. */
const mutations: Mutations = {
  linkIdentity: (app, caller, signal) =>
    app.linkIdentity(caller, { provider: 'PASSWORD', providerToken: newPassword }, signal),
  unlinkIdentity: (app, caller, signal) => app.unlinkIdentity(caller, { provider: 'IDP_ONE' }, signal),
  changePassword: (app, caller, signal) => app.changePassword(caller, { newPassword }, signal),
  createTenant: (app, caller, signal) => app.createTenant(caller, { name: 'By a thief' }, signal),
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

/** Whether another transaction waits for a lock of this one. */
async function isWaitedFor(knex: Knex.Transaction): Promise<boolean> {
  const { rows } = await knex.raw(
    'select exists (select from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))) as waited',
  );
  return rows[0].waited;
}

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
    // PGlite runs transactions one after another, so nothing ever waits for a lock there.
    if (defaultEngine() === 'server') await eventually('one waits for the lock', () => isWaitedFor(knex));
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
  const { app, database } = identity;
  const { caller: owner } = await signUp(app);
  const member = (await signUp(app)).caller;
  await database.transactShared(({ knex }) =>
    knex('memberships').insert({ user_id: member.userId, tenant_id: owner.tenantId, role: 'MEMBER' }),
  );
  await database.transactShared(({ knex }) =>
    knex('users').where({ id: member.userId }).update({ last_tenant_id: owner.tenantId }),
  );
  const inTenant = await switchTenant(database, member, owner.tenantId);
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
    login: () => app.login(anonymous, { email: input.email, password }, signal),
    refreshToken: () => app.refreshSignIn(tokens, signal),
    ...mutations,
  };
  for (const [name, call] of Object.entries(attempts)) {
    await switchTenant(ports.database, caller, tenant); // undoes the switch by createTenant
    await call(app, caller, signal);
    t.is(last?.gone, signal, name);
    t.deepEqual([last?.turn?.user, last?.turn?.tenant], [user, name in ofTenant ? tenant : undefined], name);
  }
});

test('an aborted mutation leaves the queue of its user and changes nothing', async (t) => {
  const { app, database } = await identityApp(t);
  const { caller } = await signUp(app);
  const gate = createGate();
  const first = database.transactShared(gate.pass, { turn: { user: caller.userId } });
  const controller = new AbortController();
  const refusal = t.throwsAsync(app.updateTenant(caller, { name: 'Too late' }, controller.signal));
  controller.abort();
  gate.open();
  t.like(await refusal, { kind: 'unavailable', message: 'The caller has gone' });
  await first;
  t.not((await app.myTenant(caller))?.name, 'Too late');
});

import { readFileSync } from 'node:fs';
import type { TransactOptions } from '@parley/postgres/database/types';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import { usualEngine } from '@parley/testing/test-database';
import test from 'ava';
import { Kind, type ObjectTypeDefinitionNode, parse, print } from 'graphql';
import type { Knex } from 'knex';
import type { UserCaller } from '../src/signed-in.ts';
import { type App, anybody, callerOf, type IdentityApp, identityApp, signUp, turn } from './support/identity-app.ts';

const password = 'correct horse battery';
const newPassword = 'another long password';
const refused = { kind: 'unauthenticated', message: 'Not signed in' };

type Mutations = Record<string, (app: App, caller: UserCaller, gone?: AbortSignal) => Promise<unknown>>;

const ofTenant: Mutations = {
  updateTenant: (app, caller, gone) => app.updateTenant(caller, { name: 'By a thief' }, gone),
  generateApiKey: (app, caller, gone) => app.generateApiKey(caller, gone),
  upsertAvatarConfig: (app, caller, gone) => app.upsertAvatarConfig(caller, { speakingRate: 3 }, gone),
  deleteTenant: (app, caller, gone) => app.deleteTenant(caller, gone),
};

/** Every mutation of a signed-in person. */
const mutations: Mutations = {
  changePassword: (app, caller, gone) => app.changePassword(caller, { newPassword }, gone),
  createTenant: (app, caller, gone) => app.createTenant(caller, { name: 'By a thief' }, gone),
  ...ofTenant,
};

test('the list above has every mutation that takes an access token', (t) => {
  const schema = parse(readFileSync(new URL('../src/schema.graphql', import.meta.url), 'utf8'));
  const root = schema.definitions.find(
    (each): each is ObjectTypeDefinitionNode =>
      each.kind === Kind.OBJECT_TYPE_DEFINITION && each.name.value === 'Mutation',
  );
  const signedIn = root?.fields?.filter((field) => field.directives?.some((each) => /JWT/u.test(print(each))));
  t.deepEqual(signedIn?.map(({ name }) => name.value).toSorted(), Object.keys(mutations).toSorted());
});

/** What the mutations change, but for what they only add to. */
async function stateOf({ database, app }: IdentityApp, caller: UserCaller & { tenantId: number }) {
  const { users, tenants, keys, configs } = await database.transactShared(async (db) => ({
    users: await db.knex('users').orderBy('id'),
    tenants: await db.knex('tenants').orderBy('id'),
    keys: await db.knex('api_keys').orderBy('id'),
    configs: await db.asTenant(caller.tenantId, ({ knex }) => knex('avatar_configs')),
  }));
  return { users, tenants, keys, configs, tenant: await app.myTenant(caller) };
}

test('a revoked sign-in changes nothing, whatever a gateway still believes', async (t) => {
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

test('a suspended user changes nothing and is told so, and a deleted one is nobody', async (t) => {
  const identity = await identityApp(t);
  const { app, database } = identity;
  const { caller } = await signUp(app);
  const { caller: gone } = await signUp(app);
  await database.transactShared(async ({ knex }) => {
    await knex('users').where({ id: caller.userId }).update({ status: 'SUSPENDED' });
    await knex('users').where({ id: gone.userId }).update({ deleted_at: knex.fn.now() });
  });
  const before = await stateOf(identity, caller);
  for (const [name, call] of Object.entries(mutations)) {
    t.like(await t.throwsAsync(call(app, caller)), { kind: 'forbidden', reason: 'USER_SUSPENDED' }, name);
    t.like(await t.throwsAsync(call(app, gone)), refused, name);
  }
  t.deepEqual(await stateOf(identity, caller), before);
});

test('a sign-in that has turned to another tenant changes nothing in the one before', async (t) => {
  const { app } = await identityApp(t);
  const { caller } = await signUp(app);
  const { id } = await app.createTenant(caller, { name: 'Second' });
  for (const [name, call] of Object.entries(ofTenant)) {
    t.like(await t.throwsAsync(call(app, caller)), { kind: 'conflict' }, name);
  }
  await t.notThrowsAsync(app.updateTenant({ ...caller, tenantId: id }, { name: 'Third' }));
});

test('a tenant that has just been suspended gets no key and no new defaults, and may still be changed and deleted', async (t) => {
  const { app } = await identityApp(t);
  const { caller } = await signUp(app);
  await app.updateTenant(caller, { isSuspended: true });
  const suspended = { kind: 'forbidden', reason: 'TENANT_SUSPENDED' };
  t.like(await t.throwsAsync(app.generateApiKey(caller)), suspended);
  t.like(await t.throwsAsync(app.upsertAvatarConfig(caller, { speakingRate: 3 })), suspended);
  t.true((await app.updateTenant(caller, { name: 'Renamed' })).isSuspended);
  t.true(await app.deleteTenant(caller));
});

test('a sign-in that is revoked while its new password is hashed does not set it', async (t) => {
  const { app, ports } = await identityApp(t);
  const { input, caller: owner } = await signUp(app);
  const thief = await callerOf(app, await app.login(anybody, { email: input.email, password }));
  const { hash } = ports.passwords;
  const hashed = createGate();
  ports.passwords.hash = async (given, asker) => {
    if (given === 'the password of a thief') await hashed.pass();
    return hash(given, asker);
  };
  const late = t.throwsAsync(app.changePassword(thief, { newPassword: 'the password of a thief' }));
  t.true(await app.changePassword(owner, { newPassword }));
  hashed.open();

  t.like(await late, refused);
  await t.notThrowsAsync(app.login(anybody, { email: input.email, password: newPassword }));
});

test('of two sign-ins that set a password at once one does, and the other is over', async (t) => {
  const { app } = await identityApp(t);
  const { input, caller: owner } = await signUp(app);
  const thief = await callerOf(app, await app.login(anybody, { email: input.email, password }));
  const passwords = ['the password of the owner', 'the password of a thief'];
  const outcomes = await Promise.allSettled(
    [owner, thief].map((caller, n) => app.changePassword(caller, { newPassword: passwords[n] ?? '' })),
  );

  t.deepEqual(outcomes.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
  for (const [n, outcome] of outcomes.entries()) {
    const login = app.login(anybody, { email: input.email, password: passwords[n] ?? '' });
    if (outcome.status === 'fulfilled') await t.notThrowsAsync(login);
    else {
      t.like(outcome.reason, refused);
      await t.throwsAsync(login);
    }
  }
});

/** Whether another transaction waits for a lock that this one holds. */
async function isWaitedFor(knex: Knex.Transaction): Promise<boolean> {
  const { rows } = await knex.raw(
    'select exists (select from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))) as waited',
  );
  return rows[0].waited;
}

test('a mutation waits for a transaction that is revoking its sign-in, and is refused then', async (t) => {
  const identity = await identityApp(t);
  const { app, database } = identity;
  const { input, caller: owner } = await signUp(app);
  const thief = await callerOf(app, await app.login(anybody, { email: input.email, password }));
  const before = await stateOf(identity, owner);
  const [locked, enough] = [createGate(), createGate()];
  const revoking = database.transactShared(async ({ knex }) => {
    await knex('users').where({ id: owner.userId }).forNoKeyUpdate().first('id');
    locked.open();
    await enough.pass();
    // The embedded database has nobody waiting for a lock: it begins no transaction before this one has ended.
    if (usualEngine() === 'server') await eventually('one waits for the lock', () => isWaitedFor(knex));
    await knex('sign_ins').where({ id: thief.signInId }).update({ revoked_at: knex.fn.now() });
  });
  await locked.pass();
  let begun = 0;
  const calls = Object.values(mutations).map(async (call) => {
    begun += 1;
    return t.throwsAsync(call(app, thief));
  });
  await eventually('all are under way', () => begun === calls.length);
  enough.open();
  await revoking;

  for (const error of await Promise.all(calls)) t.like(error, refused);
  t.deepEqual(await stateOf(identity, owner), before);
});

test('changes by a member while the owner deletes their tenant come before it or are refused', async (t) => {
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
  const inside = await turn(database, member, owner.tenantId);
  const renames = Array.from({ length: 5 }, (_, n) => app.updateTenant(inside, { name: `Renamed ${n}` }));
  const [deleted, ...rest] = await Promise.allSettled([app.deleteTenant(owner), ...renames]);

  t.deepEqual(deleted, { status: 'fulfilled', value: true });
  for (const each of rest) {
    if (each.status === 'rejected') t.like(each.reason, { kind: 'forbidden', reason: 'NO_TENANT' });
  }
});

test('whatever locks the row of a user or a tenant waits for its turn among those that do, for as long as its caller waits', async (t) => {
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
  const { signal: gone } = new AbortController();
  const attempts: typeof mutations = {
    login: () => app.login(anybody, { email: input.email, password }, gone),
    refreshToken: () => app.refreshSignIn(tokens, gone),
    ...mutations,
  };
  for (const [name, call] of Object.entries(attempts)) {
    await turn(ports.database, caller, tenant); // createTenant has turned it to another
    await call(app, caller, gone);
    t.deepEqual(last, { turn: name in ofTenant ? { user, tenant } : { user }, gone }, name);
  }
});

test('a change that waits for another of its user is left with its caller, and changes nothing', async (t) => {
  const { app, database } = await identityApp(t);
  const { caller } = await signUp(app);
  const gate = createGate();
  const first = database.transactShared(gate.pass, { turn: { user: caller.userId } });
  const leaving = new AbortController();
  const refusal = t.throwsAsync(app.updateTenant(caller, { name: 'Too late' }, leaving.signal));
  leaving.abort();
  gate.open();
  t.like(await refusal, { kind: 'unavailable', message: 'The caller has gone' });
  await first;
  t.not((await app.myTenant(caller))?.name, 'Too late');
});

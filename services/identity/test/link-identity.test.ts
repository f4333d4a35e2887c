import test from 'ava';
import type { AuthProvider } from '../src/generated/schema.ts';
import type { UserCaller } from '../src/sign-ins/signed-in.ts';
import { anonymous, callerOf, signUp } from './support/identity-app.ts';
import { idpOneApp, newPerson } from './support/idp-one-app.ts';

const password = 'correct horse battery';
const lastMethod = { kind: 'invalid', reason: 'LAST_LOGIN_METHOD' };

async function setUp(...options: Parameters<typeof idpOneApp>) {
  const all = await idpOneApp(...options);
  const { app, provider, messages, userRow } = all;
  return {
    ...all,
    /** Links the identity of a person, with a new ticket. */
    linkIdpOne: (caller: UserCaller, person: ReturnType<typeof newPerson>) =>
      app.linkIdentity(caller, { provider: 'IDP_ONE', providerToken: provider.ticketFor(person) }),
    linkPassword: (caller: UserCaller, providerToken = password) =>
      app.linkIdentity(caller, { provider: 'PASSWORD', providerToken }),
    unlink: (caller: UserCaller, method: AuthProvider) => app.unlinkIdentity(caller, { provider: method }),
    subjects: async () => (await messages()).map(({ subject }) => subject.replace('Parley: ', '')),
    methodsOf: async ({ userId }: UserCaller) => {
      const { passwordHash, idpOneSubject } = await userRow(userId);
      return { password: passwordHash !== null, idpOne: idpOneSubject };
    },
  };
}

test('rule 4: a ticket as for signing in links an identity, which then signs in to the account, whatever its email is', async (t) => {
  const { app, entered, linkIdpOne, subjects, methodsOf } = await setUp(t);
  const { caller } = await signUp(app);
  const person = newPerson();
  t.true(await linkIdpOne(caller, person));
  t.deepEqual(await methodsOf(caller), { password: true, idpOne: person.subject });
  t.like(await entered(person), { userId: caller.userId, tenantId: caller.tenantId });
  t.deepEqual(await subjects(), ['a way to sign in was added']);
});

test('rule 6: linking leaves sign-ins, the API key and the password of the account as they are', async (t) => {
  const { app, linkIdpOne, userRow } = await setUp(t);
  const { caller, input, tokens } = await signUp(app);
  await linkIdpOne(caller, newPerson({ email: input.email }));
  await t.notThrowsAsync(app.refreshSignIn(anonymous, tokens));
  const again = await callerOf(app, await app.login(anonymous, { email: input.email, password }));
  t.is((await app.resolveSignIn(again.signInId)).limitedReason, null);
  t.false((await userRow(caller.userId)).emailProofRequired);
});

test('rule 4: linking the same identity again changes nothing and answers true', async (t) => {
  const { app, linkIdpOne, subjects, userRow } = await setUp(t);
  const { caller } = await signUp(app);
  const person = newPerson();
  await linkIdpOne(caller, person);
  const before = await userRow(caller.userId);
  t.true(await linkIdpOne(caller, { ...person, email: 'changed@example.test' }));
  t.deepEqual(await userRow(caller.userId), before);
  t.is((await subjects()).length, 1);
});

test('rule 4, errors: an identity that is linked to another account is refused', async (t) => {
  const { app, entered, linkIdpOne, subjects, methodsOf } = await setUp(t);
  const { caller } = await signUp(app);
  const person = newPerson();
  const other = await entered(person);
  t.like(await t.throwsAsync(linkIdpOne(caller, person)), { kind: 'conflict' });
  t.deepEqual(await methodsOf(caller), { password: true, idpOne: null });
  t.deepEqual(await methodsOf(other), { password: false, idpOne: person.subject });
  t.deepEqual(await subjects(), []);
});

test('an account that is linked to one identity cannot be linked to another', async (t) => {
  const { app, linkIdpOne, subjects, methodsOf } = await setUp(t);
  const { caller } = await signUp(app);
  const person = newPerson();
  await linkIdpOne(caller, person);
  t.like(await t.throwsAsync(linkIdpOne(caller, newPerson())), { kind: 'conflict' });
  t.like(await methodsOf(caller), { idpOne: person.subject });
  t.is((await subjects()).length, 1);
});

test('a ticket that is refused or was seen before links nothing, and the sign-in is not to blame', async (t) => {
  const { app, provider, methodsOf } = await setUp(t);
  const { caller } = await signUp(app);
  const used = provider.ticketFor(newPerson());
  await app.loginWithIdpOne(anonymous, { ticket: used });
  for (const providerToken of [used, 'unknown'])
    t.like(await t.throwsAsync(app.linkIdentity(caller, { provider: 'IDP_ONE', providerToken })), {
      kind: 'invalid',
      message: 'Invalid or expired ticket',
    });
  t.is(provider.exchanges.length, 2);
  t.like(await methodsOf(caller), { idpOne: null });
});

test('a ticket that was used to link does not sign in', async (t) => {
  const { app, provider } = await setUp(t);
  const { caller } = await signUp(app);
  const ticket = provider.ticketFor(newPerson());
  await app.linkIdentity(caller, { provider: 'IDP_ONE', providerToken: ticket });
  t.like(await t.throwsAsync(app.loginWithIdpOne(anonymous, { ticket })), { kind: 'unauthenticated' });
});

test('a caller who may not link does not use up a ticket', async (t) => {
  const { app, provider, database, advance } = await setUp(t, { settings: { reauthMaxAgeS: 300 } });
  const { caller } = await signUp(app);
  const { caller: suspended } = await signUp(app);
  const { caller: revoked } = await signUp(app);
  await database.transactShared(async ({ knex }) => {
    await knex('users').where({ id: suspended.userId }).update({ status: 'SUSPENDED' });
    await knex('sign_ins').where({ id: revoked.signInId }).update({ revoked_at: knex.fn.now() });
  });
  const providerToken = provider.ticketFor(newPerson());
  const link = (who: UserCaller) => app.linkIdentity(who, { provider: 'IDP_ONE', providerToken });
  t.like(await t.throwsAsync(link(suspended)), { reason: 'USER_SUSPENDED' });
  t.like(await t.throwsAsync(link(revoked)), { kind: 'unauthenticated' });
  advance(301_000);
  t.like(await t.throwsAsync(link(caller)), { reason: 'REAUTHENTICATE' });
  t.is(provider.exchanges.length, 0);
  await t.notThrowsAsync(app.loginWithIdpOne(anonymous, { ticket: providerToken }));
});

test('a sign-in that is revoked while the provider is asked links nothing', async (t) => {
  const { app, provider, database, methodsOf, ports } = await setUp(t);
  const { caller } = await signUp(app);
  const { idpOne } = ports;
  if (!idpOne) return t.fail();
  ports.idpOne = {
    ...idpOne,
    async exchange(...given) {
      const person = await idpOne.exchange(...given);
      await database.transactShared(({ knex }) => knex('sign_ins').update({ revoked_at: knex.fn.now() }));
      return person;
    },
  };
  const providerToken = provider.ticketFor(newPerson());
  t.like(await t.throwsAsync(app.linkIdentity(caller, { provider: 'IDP_ONE', providerToken })), {
    kind: 'unauthenticated',
  });
  t.like(await methodsOf(caller), { idpOne: null });
});

test('linking PASSWORD gives an account its first password, by the rules of passwords', async (t) => {
  const { app, entered, linkPassword, subjects, methodsOf } = await setUp(t);
  const person = newPerson();
  const caller = await entered(person);
  for (const wrong of ['short', 'password', person.email, 'x'.repeat(129)])
    t.like(await t.throwsAsync(linkPassword(caller, wrong)), { kind: 'invalid', fields: [{ path: 'providerToken' }] });
  t.deepEqual(await methodsOf(caller), { password: false, idpOne: person.subject });
  t.deepEqual(await subjects(), []);
  t.true(await linkPassword(caller));
  t.deepEqual(await subjects(), ['a way to sign in was added']);
  const signedIn = await callerOf(app, await app.login(anonymous, { email: person.email, password }));
  t.is(signedIn.userId, caller.userId);
  t.is((await entered(person)).userId, caller.userId);
});

test('linking PASSWORD if one exists changes nothing and returns true', async (t) => {
  const { app, linkPassword, subjects, userRow, ports } = await setUp(t);
  const { caller, input } = await signUp(app);
  const before = await userRow(caller.userId);
  ports.passwords.hash = () => Promise.reject(new Error('nothing is to be hashed'));
  for (const token of ['another long password', 'short', '']) t.true(await linkPassword(caller, token));
  t.deepEqual(await userRow(caller.userId), before);
  t.deepEqual(await subjects(), []);
  await t.notThrowsAsync(app.login(anonymous, { email: input.email, password }));
});

test('of two first passwords at once one is set, and one mail is sent', async (t) => {
  const { app, entered, linkPassword, subjects } = await setUp(t);
  const person = newPerson();
  const caller = await entered(person);
  const passwords = ['the first of two passwords', 'the second of two passwords'];
  t.deepEqual(await Promise.all(passwords.map((each) => linkPassword(caller, each))), [true, true]);
  const logins = await Promise.allSettled(
    passwords.map((each) => app.login(anonymous, { email: person.email, password: each })),
  );
  t.deepEqual(logins.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
  t.is((await subjects()).length, 1);
});

test('unlinking IDP_ONE frees the identity for another account', async (t) => {
  const { app, entered, linkIdpOne, unlink, subjects, methodsOf } = await setUp(t);
  const { caller } = await signUp(app);
  const person = newPerson();
  await linkIdpOne(caller, person);
  t.true(await unlink(caller, 'IDP_ONE'));
  t.deepEqual(await methodsOf(caller), { password: true, idpOne: null });
  t.deepEqual(await subjects(), ['a way to sign in was added', 'a way to sign in was removed']);
  t.not((await entered(person)).userId, caller.userId);
});

test('after unlinking PASSWORD the hash is gone, and the password signs in no more', async (t) => {
  const { app, entered, linkIdpOne, unlink, subjects, methodsOf } = await setUp(t);
  const { caller, input } = await signUp(app);
  const person = newPerson();
  await linkIdpOne(caller, person);
  t.true(await unlink(caller, 'PASSWORD'));
  t.deepEqual(await methodsOf(caller), { password: false, idpOne: person.subject });
  t.deepEqual((await subjects()).slice(1), ['a way to sign in was removed']);
  t.like(await t.throwsAsync(app.login(anonymous, { email: input.email, password })), { kind: 'unauthenticated' });
  t.is((await entered(person)).userId, caller.userId);
});

test('unlinking a method that is not linked changes nothing and returns true', async (t) => {
  const { app, entered, unlink, subjects, userRow } = await setUp(t);
  const { caller } = await signUp(app);
  const other = await entered(newPerson());
  const before = await Promise.all([userRow(caller.userId), userRow(other.userId)]);
  t.true(await unlink(caller, 'IDP_ONE'));
  t.true(await unlink(other, 'PASSWORD'));
  t.deepEqual(await Promise.all([userRow(caller.userId), userRow(other.userId)]), before);
  t.deepEqual(await subjects(), []);
});

test('rule 5, errors: the last way to sign in cannot be unlinked', async (t) => {
  const { app, entered, linkIdpOne, unlink, subjects, methodsOf } = await setUp(t);
  const { caller } = await signUp(app);
  const person = newPerson();
  const other = await entered(newPerson());
  t.like(await t.throwsAsync(unlink(caller, 'PASSWORD')), lastMethod);
  t.like(await t.throwsAsync(unlink(other, 'IDP_ONE')), lastMethod);
  t.deepEqual(await subjects(), []);
  await linkIdpOne(caller, person);
  await unlink(caller, 'PASSWORD');
  t.like(await t.throwsAsync(unlink(caller, 'IDP_ONE')), lastMethod);
  t.deepEqual(await methodsOf(caller), { password: false, idpOne: person.subject });
});

test('the password of whoever registered an email without proving it is no way to sign in', async (t) => {
  const { app, entered, unlink } = await setUp(t);
  const { input } = await signUp(app);
  const owner = await entered(newPerson({ email: input.email }));
  t.like(await t.throwsAsync(unlink(owner, 'IDP_ONE')), lastMethod);
});

test('a password without an email or phone number is no way to sign in', async (t) => {
  const { app, entered, linkPassword, unlink } = await setUp(t);
  const { input } = await signUp(app);
  const nameless = await entered(newPerson({ email: input.email, emailVerified: false }));
  await linkPassword(nameless);
  t.like(await t.throwsAsync(unlink(nameless, 'IDP_ONE')), lastMethod);
});

test('of two different methods unlinked at once one is refused', async (t) => {
  const { app, linkIdpOne, unlink, subjects, methodsOf } = await setUp(t);
  for (let round = 0; round < 5; round += 1) {
    const { caller, input } = await signUp(app);
    const person = newPerson();
    await linkIdpOne(caller, person);
    const other = await callerOf(app, await app.login(anonymous, { email: input.email, password }));
    const ends = await Promise.allSettled([unlink(caller, 'PASSWORD'), unlink(other, 'IDP_ONE')]);
    const refused = ends.filter((end) => end.status === 'rejected');
    t.is(refused.length, 1);
    t.like(refused[0]?.reason, lastMethod);
    const methods = await methodsOf(caller);
    t.not(methods.password, methods.idpOne !== null, 'one is left');
  }
  t.is((await subjects()).length, 10);
});

test('rule 4, errors: reserved providers are not implemented, in both mutations', async (t) => {
  const { app, unlink, provider } = await setUp(t);
  const { caller } = await signUp(app);
  for (const reserved of ['RESERVED_PROVIDER_1', 'RESERVED_PROVIDER_2'] as const) {
    const link = app.linkIdentity(caller, { provider: reserved, providerToken: 'any' });
    t.like(await t.throwsAsync(link), { kind: 'notImplemented' });
    t.like(await t.throwsAsync(unlink(caller, reserved)), { kind: 'notImplemented' });
  }
  t.is(provider.exchanges.length, 0);
});

test('REAUTH_MAX_AGE applies to linking and unlinking', async (t) => {
  const { app, advance, linkIdpOne, linkPassword, unlink, entered, methodsOf } = await setUp(t, {
    settings: { reauthMaxAgeS: 300 },
  });
  const { caller } = await signUp(app);
  const person = newPerson();
  await linkIdpOne(caller, person);
  advance(301_000);
  const old = { kind: 'forbidden', reason: 'REAUTHENTICATE' };
  t.like(await t.throwsAsync(linkIdpOne(caller, person)), old);
  t.like(await t.throwsAsync(linkPassword(caller)), old);
  t.like(await t.throwsAsync(unlink(caller, 'PASSWORD')), old);
  t.like(await t.throwsAsync(unlink(caller, 'IDP_ONE')), old);
  t.deepEqual(await methodsOf(caller), { password: true, idpOne: person.subject });
  t.true(await unlink(await entered(person), 'PASSWORD'));
});

import type { TransactOptions } from '@parley/postgres/database/types';
import { requestOf } from '@parley/testing/request-of';
import test from 'ava';
import { apiKeySha256 } from '../src/api-keys/api-key.ts';
import { codeSentTo, messagesTo, refusedToken } from './support/codes.ts';
import { addMember, anonymous, callerOf, signUp } from './support/identity-app.ts';
import { idpOneApp, newPerson, rowOf } from './support/idp-one-app.ts';

const password = 'correct horse battery';
const acme = { id: 'acme', name: 'Acme Ltd' };

test('rule 2 (a): a linked identity signs in to its account, whatever its email and company say by now', async (t) => {
  const { app, entered, counts } = await idpOneApp(t);
  const person = newPerson({ company: acme });
  const first = await entered(person);
  const other = await signUp(app);
  const before = await counts();
  const again = await entered({
    ...person,
    email: other.input.email,
    fullname: 'Renamed',
    company: { id: 'globex', name: 'Globex' },
  });
  t.is(again.userId, first.userId);
  t.is(again.tenantId, first.tenantId);
  t.like(await app.getAuthProfile(again), { email: person.email, fullname: person.fullname });
  t.deepEqual(await counts(), { ...before, signIns: before.signIns + 1 });
});

test('rule 2 (b): a verified email of an existing account links the identity to it, and the existing tenant wins', async (t) => {
  const { app, entered, counts, userRow, messages } = await idpOneApp(t);
  const { caller, input } = await signUp(app);
  await entered(newPerson({ company: acme }));
  const before = await counts();
  const person = newPerson({ email: ` ${input.email.toUpperCase()}`, company: acme });
  const linked = await entered(person);

  t.is(linked.userId, caller.userId);
  t.is(linked.tenantId, caller.tenantId);
  t.is((await userRow(caller.userId)).idpOneSubject, person.subject);
  t.deepEqual(await counts(), { ...before, signIns: before.signIns + 1 });
  t.deepEqual(
    (await messages()).map(({ to, subject }) => [to, subject]),
    [[{ email: input.email }, 'Parley: a way to sign in was added']],
  );
  t.is((await entered({ ...person, email: 'changed@example.test' })).userId, caller.userId);
  t.is((await messages()).length, 1, 'told once');
});

test("linking by email keeps the account's tenant, also where it is null", async (t) => {
  const { app, entered } = await idpOneApp(t);
  const { caller, input } = await signUp(app);
  await app.deleteTenant(caller);
  const linked = await entered(newPerson({ email: input.email, company: acme }));
  t.is(linked.userId, caller.userId);
  t.is(linked.tenantId, null);
});

test('an unverified email links nothing, and one that is taken leaves the new account without one', async (t) => {
  const { app, entered, userRow, messages } = await idpOneApp(t);
  const { caller, input } = await signUp(app);
  for (const emailVerified of [false, null]) {
    const stranger = await entered(newPerson({ email: input.email, emailVerified }));
    t.not(stranger.userId, caller.userId);
    t.like(await app.getAuthProfile(stranger), { email: null });
  }
  const free = await entered(newPerson({ email: 'Free@Example.test', emailVerified: false }));
  t.like(await app.getAuthProfile(free), { email: 'free@example.test' });
  t.is((await userRow(caller.userId)).idpOneSubject, null);
  t.deepEqual(await messages(), []);
});

test('a new identity without a company gets an account without a password, and a workspace that it owns', async (t) => {
  const { app, entered, userRow } = await idpOneApp(t);
  const person = newPerson({ fullname: 'Ada Lovelace' });
  const ada = await entered(person);
  const profile = await app.getAuthProfile(ada);
  t.like(profile, {
    email: person.email,
    fullname: 'Ada Lovelace',
    username: null,
    phoneCode: null,
    phoneNumber: null,
    idNo: null,
    status: 'ACTIVE',
    twoFactorEnabled: false,
  });
  t.regex(profile?.referralCode ?? '', /^[2-9A-HJ-NP-Z]{8}$/);
  t.like(await app.myTenant(ada), { name: "Ada Lovelace's Workspace", plan: 'DEV', primaryBillingAccount: 'PLATFORM' });
  t.like(await app.getAvatarConfig({ ...ada, tenantId: ada.tenantId ?? 0 }), { gender: 'FEMALE' });
  t.regex((await app.generateApiKey(ada)).key, /^sk_/); // only an owner may generate a key
  t.is((await userRow(ada.userId)).passwordHash, null);
  for (const tried of ['', password])
    t.like(await t.throwsAsync(app.login(anonymous, { email: person.email, password: tried })), {
      kind: 'unauthenticated',
      message: 'Wrong credentials',
    });
});

test("no fullname: the account has the email's local part, and its workspace too", async (t) => {
  const { app, entered } = await idpOneApp(t);
  const ada = await entered(newPerson({ email: 'ada.lovelace@example.test', fullname: null }));
  t.like(await app.getAuthProfile(ada), { fullname: 'ada.lovelace' });
  t.like(await app.myTenant(ada), { name: "ada.lovelace's Workspace" });
});

test("rule 2 (c): a new company's tenant has its name, DEV and PLATFORM, and its first user owns it", async (t) => {
  const { app, entered } = await idpOneApp(t);
  const ada = await entered(newPerson({ company: acme }));
  t.like(await app.myTenant(ada), {
    name: 'Acme Ltd',
    plan: 'DEV',
    region: null,
    isSuspended: false,
    primaryBillingAccount: 'PLATFORM',
  });
  await t.notThrowsAsync(app.generateApiKey(ada));
});

test('rule 2 (c): a new user of a company already seen joins its tenant as a member', async (t) => {
  const { app, entered, counts } = await idpOneApp(t);
  const owner = await entered(newPerson({ company: acme }));
  const colleague = newPerson({ company: { ...acme, name: 'Acme, renamed since' } });
  const member = await entered(colleague);
  t.is(member.tenantId, owner.tenantId);
  t.is((await entered(colleague)).tenantId, owner.tenantId);
  t.is((await app.myTenant(member))?.name, 'Acme Ltd');
  t.like(await t.throwsAsync(app.generateApiKey(member)), { kind: 'forbidden', reason: 'OWNER_ONLY' });
  t.like(await counts(), { tenants: 1, members: 2 });
  t.not((await entered(newPerson({ company: { id: 'ACME', name: 'Another' } }))).tenantId, owner.tenantId);
});

test('a deleted tenant frees its company: its next new user makes a new tenant, members keep none', async (t) => {
  const { app, entered } = await idpOneApp(t);
  const [first, second] = [newPerson({ company: acme }), newPerson({ company: acme })];
  const owner = await entered(first);
  await entered(second);
  await app.deleteTenant(owner);
  t.is((await entered(second)).tenantId, null);
  const next = await entered(newPerson({ company: acme }));
  t.truthy(next.tenantId);
  t.not(next.tenantId, owner.tenantId);
  await t.notThrowsAsync(app.generateApiKey(next));
  t.is((await entered(newPerson({ company: acme }))).tenantId, next.tenantId);
});

test('a suspended account is refused, and not linked', async (t) => {
  const { app, enter, entered, database, counts, userRow, messages } = await idpOneApp(t);
  const { caller, input } = await signUp(app);
  const person = newPerson();
  const linked = await entered(person);
  await database.transactShared(({ knex }) => knex('users').update({ status: 'SUSPENDED' }));
  const before = await counts();
  const suspended = { kind: 'forbidden', reason: 'USER_SUSPENDED' };
  t.like(await t.throwsAsync(enter(person)), suspended);
  t.like(await t.throwsAsync(enter(newPerson({ email: input.email }))), suspended);
  t.like(await t.throwsAsync(enter(newPerson({ email: person.email }))), suspended);
  t.deepEqual(await counts(), before);
  t.is((await userRow(caller.userId)).idpOneSubject, null);
  t.is((await userRow(linked.userId)).idpOneSubject, person.subject);
  t.deepEqual(await messages(), []);
});

test('an account that is linked to another identity is not linked again, and its owner is told once', async (t) => {
  const { enter, entered, counts, userRow, messages } = await idpOneApp(t);
  const person = newPerson();
  const ada = await entered(person);
  const before = await counts();
  t.like(await t.throwsAsync(enter(newPerson({ email: person.email }))), { kind: 'conflict' });
  t.deepEqual(await counts(), before);
  t.is((await userRow(ada.userId)).idpOneSubject, person.subject);
  t.deepEqual(
    (await messages()).map(({ to, subject }) => [to, subject]),
    [[{ email: person.email }, 'Parley: a sign-in was refused']],
  );
});

test('auto-linking ends what an account had whose email nobody has proved', async (t) => {
  const { app, entered, announced, userRow, database } = await idpOneApp(t);
  const { caller, input, tokens } = await signUp(app);
  const { key } = await app.generateApiKey(caller);
  const other = await callerOf(app, await app.login(anonymous, { email: input.email, password }));
  await database.transactShared(({ knex }) =>
    knex('users')
      .where({ id: caller.userId })
      .update({ two_factor_secret_sealed: Buffer.of(1) }),
  );
  announced.length = 0;
  const owner = await entered(newPerson({ email: input.email }));

  t.is(owner.userId, caller.userId);
  t.is((await app.resolveSignIn(owner.signInId)).limitedReason, null);
  for (const { signInId } of [caller, other])
    t.like(await t.throwsAsync(app.resolveSignIn(signInId)), { kind: 'notFound' });
  t.like(await t.throwsAsync(app.refreshSignIn(anonymous, tokens)), { kind: 'unauthenticated' });
  t.like(await t.throwsAsync(app.resolveApiKey(apiKeySha256(key))), { kind: 'notFound' });
  t.like(await userRow(caller.userId), { twoFactorSecretSealed: null, emailProofRequired: true });
  t.deepEqual(announced, [
    { $case: 'userId', value: caller.userId },
    { $case: 'tenantId', value: caller.tenantId },
  ]);
});

test('after auto-linking, the phone of whoever registered an email without proving it resets no password', async (t) => {
  const identity = await idpOneApp(t);
  const { app, entered, userRow } = identity;
  const { caller, input } = await signUp(app);
  const phone = `${input.phoneCode}${input.phoneNumber}`;
  const before = await app.generateOtp(anonymous, { phoneNumber: phone, purpose: 'RESET_PASSWORD' });
  const token = await codeSentTo(identity, { phone });
  const owner = await entered(newPerson({ email: input.email }));
  const reset = { newPassword: 'another long password', token: { token, id: before } };
  t.like(await t.throwsAsync(app.forgotPasswordWithOtp(anonymous, reset)), refusedToken);
  const after = await messagesTo(identity, { phone });
  await app.generateOtp(anonymous, { phoneNumber: phone, purpose: 'RESET_PASSWORD' });
  t.is((await messagesTo(identity, { phone })).length, after.length);
  t.like(await userRow(caller.userId), { phoneE164: null, phoneNumber: null, phoneNational: null, email: input.email });
  await t.notThrowsAsync(app.resolveSignIn(owner.signInId));
});

test('auto-linking revokes the API keys of the tenants that the account owns by now, and of no others', async (t) => {
  const { app, entered, database } = await idpOneApp(t);
  const [{ caller: before, input }, { caller: heir, input: heirInput }] = [await signUp(app), await signUp(app)];
  const { key } = await app.generateApiKey(before);
  await addMember({ app, database }, heir, before.tenantId);
  await database.transactShared(async ({ knex }) => {
    const members = () => knex('memberships').where({ tenantId: before.tenantId });
    await members().where({ userId: before.userId }).update({ role: 'MEMBER' });
    await members().where({ userId: heir.userId }).update({ role: 'OWNER' });
  });
  await entered(newPerson({ email: input.email }));
  await t.notThrowsAsync(app.resolveApiKey(apiKeySha256(key)));
  await entered(newPerson({ email: heirInput.email }));
  t.like(await t.throwsAsync(app.resolveApiKey(apiKeySha256(key))), { kind: 'notFound' });
});

test('auto-linking leaves an account alone whose email was proved, and its second factor limits the sign-in', async (t) => {
  const { app, entered, announced, userRow, database } = await idpOneApp(t);
  const { caller, input, tokens } = await signUp(app);
  const { key } = await app.generateApiKey(caller);
  await database.transactShared(({ knex }) =>
    knex('users')
      .where({ id: caller.userId })
      .update({ two_factor_secret_sealed: Buffer.of(1), email_proved_at: knex.fn.now() }),
  );
  announced.length = 0;
  const person = newPerson({ email: input.email });
  const linked = await entered(person);
  t.is((await app.resolveSignIn(linked.signInId)).limitedReason, 'TWO_FACTOR_REQUIRED');
  t.is((await app.resolveSignIn((await entered(person)).signInId)).limitedReason, 'TWO_FACTOR_REQUIRED');
  await t.notThrowsAsync(app.refreshSignIn(anonymous, tokens));
  await t.notThrowsAsync(app.resolveApiKey(apiKeySha256(key)));
  t.like(await userRow(caller.userId), { emailProofRequired: false });
  t.deepEqual(announced, []);
});

test('a required proof of the email does not limit a sign-in with the provider', async (t) => {
  const { app, entered, userRow } = await idpOneApp(t);
  const { caller, input } = await signUp(app);
  const person = newPerson({ email: input.email });
  await entered(person);
  const again = await entered(person);
  t.true((await userRow(caller.userId)).emailProofRequired);
  t.is((await app.resolveSignIn(again.signInId)).limitedReason, null);
});

test('rule 6: signing in with the provider never replaces another way to sign in', async (t) => {
  const { app, entered } = await idpOneApp(t);
  const { caller, input } = await signUp(app);
  await entered(newPerson({ email: input.email }));
  const { userId } = await callerOf(app, await app.login(anonymous, { email: input.email, password }));
  t.is(userId, caller.userId);
});

test('a new account does not follow REGISTRATION, and billing does not follow the identity', async (t) => {
  const { app, entered, database } = await idpOneApp(t, { settings: { registration: 'invite' } });
  const ada = await entered(newPerson({ company: acme }));
  t.like(await rowOf(database, 'tenants', ada.tenantId ?? 0), { primaryBillingAccount: 'PLATFORM' });
  t.truthy(await app.getAuthProfile(ada));
});

test('the identity of a deleted account makes a new one', async (t) => {
  const { entered, database } = await idpOneApp(t);
  const person = newPerson();
  const { userId } = await entered(person);
  await database.transactShared(({ knex }) =>
    knex('users').where({ id: userId }).update({ deleted_at: knex.fn.now() }),
  );
  t.not((await entered(person)).userId, userId);
});

test('sign-ins wait in a queue per account or company, with the abort signal', async (t) => {
  const { app, provider, ports } = await idpOneApp(t);
  const { caller, input } = await signUp(app);
  const { transactShared } = ports.database;
  const lockQueues: TransactOptions['lockQueue'][] = [];
  ports.database = {
    ...ports.database,
    transactShared: (work, how) => {
      if (how?.lockQueue && how.signal === signal) lockQueues.push(how.lockQueue);
      return transactShared(work, how);
    },
  };
  const { signal } = new AbortController();
  for (const person of [
    newPerson({ email: input.email }),
    newPerson({ company: acme }),
    newPerson({ subject: 'nobody yet' }),
  ])
    await app.loginWithIdpOne(requestOf(anonymous, { signal }), { ticket: provider.ticketFor(person) });
  t.deepEqual(lockQueues, [{ user: caller.userId }, { row: 'company acme' }, { row: 'subject nobody yet' }]);
});

import test from 'ava';
import { anonymous, callerOf, identityApp, signUp } from './support/identity-app.ts';

const password = 'correct horse battery';

test('login normalizes the email and starts in the last used tenant', async (t) => {
  const { app } = await identityApp(t);
  const { caller } = await signUp(app, { email: 'ada@example.test' });
  const made = await app.createTenant(caller, { name: 'Second' });

  const again = await callerOf(app, await app.login(anonymous, { email: ' ADA@Example.test ', password }));
  t.is(again.userId, caller.userId);
  t.not(again.signInId, caller.signInId);
  t.is(again.tenantId, made.id);
});

test('login accepts E.164, or a national number of exactly one live user', async (t) => {
  const { app } = await identityApp(t);
  const ada = await signUp(app, { phoneCode: '+44', phoneNumber: '07911123456' });
  const bob = await signUp(app, { phoneCode: '+65', phoneNumber: '91234567' });
  const userOf = async (phoneNumber: string) =>
    (await callerOf(app, await app.login(anonymous, { phoneNumber, password }))).userId;

  for (const number of ['+447911123456', '+44 7911 123456', '07911 123456', '7911123456'])
    t.is(await userOf(number), ada.caller.userId);
  t.is(await userOf('91234567'), bob.caller.userId);

  await signUp(app, { phoneCode: '+47', phoneNumber: '91234567' }); // the same digits in another country
  t.like(await t.throwsAsync(userOf('91234567')), { kind: 'unauthenticated' });
  t.is(await userOf('+6591234567'), bob.caller.userId);
});

// Equal response times are measured by deploy/bench only, over 200 logins of each kind.
test('unknown accounts, wrong passwords and malformed input get the same error', async (t) => {
  const { app } = await identityApp(t);
  const { input } = await signUp(app);
  const attempts = [
    { email: input.email, password: 'wrong password' },
    { email: input.email, password: '' },
    { email: input.email, password: 'x'.repeat(100_000) },
    { email: 'nobody@example.test', password },
    { email: '', password },
    { email: "' OR 1=1 --", password },
    { phoneNumber: '+447000000000', password },
    { phoneNumber: '%', password },
    { phoneNumber: '', password },
  ];
  for (const attempt of attempts) {
    const error = await t.throwsAsync(app.login(anonymous, attempt), undefined, JSON.stringify(attempt).slice(0, 80));
    t.like(error, { kind: 'unauthenticated', message: 'Wrong credentials', reason: undefined });
  }
});

test('login requires exactly one of email and phoneNumber, and text that can be stored', async (t) => {
  const { app } = await identityApp(t);
  for (const input of [
    { password },
    { email: null, phoneNumber: null, password },
    { email: 'a@example.test', phoneNumber: '+447911123456', password },
    { email: 'a\0@example.test', password },
    { email: 'a@example.test', password: '\ud800' },
  ]) {
    t.like(await t.throwsAsync(app.login(anonymous, input)), { kind: 'invalid' });
  }
});

test('suspension is revealed only with the correct password', async (t) => {
  const { app, database } = await identityApp(t);
  const { input, caller, tokens } = await signUp(app);
  await database.transactShared(({ knex }) =>
    knex('users').where({ id: caller.userId }).update({ status: 'SUSPENDED' }),
  );

  t.like(await t.throwsAsync(app.login(anonymous, { email: input.email, password: 'wrong password' })), {
    kind: 'unauthenticated',
  });
  t.like(await t.throwsAsync(app.login(anonymous, { email: input.email, password })), {
    kind: 'forbidden',
    reason: 'USER_SUSPENDED',
  });
  t.like(await t.throwsAsync(app.refreshSignIn(anonymous, tokens)), { kind: 'forbidden', reason: 'USER_SUSPENDED' });
  t.true((await app.resolveSignIn(caller.signInId)).userSuspended);
});

test('a new sign-in of a user with a second factor is limited', async (t) => {
  const { app, database } = await identityApp(t);
  const { input, caller } = await signUp(app);
  await database.transactShared(({ knex }) =>
    knex('users')
      .where({ id: caller.userId })
      .update({ two_factor_secret_sealed: Buffer.from('sealed') }),
  );
  const { signInId } = await callerOf(app, await app.login(anonymous, { email: input.email, password }));

  t.is((await app.resolveSignIn(signInId)).limitedReason, 'TWO_FACTOR_REQUIRED');
  t.true((await app.getAuthProfile(caller))?.twoFactorEnabled);
});

test('the error for a missing or double identifier names the field', async (t) => {
  const { app } = await identityApp(t);
  for (const account of [
    {},
    { email: null, phoneNumber: null },
    { email: 'a@example.test', phoneNumber: '+447911123456' },
  ]) {
    t.like(await t.throwsAsync(app.login(anonymous, { ...account, password })), {
      kind: 'invalid',
      message: 'input.email or input.phoneNumber must be given, and not both',
      fields: [{ path: 'input.email' }],
    });
  }
});

test('a deleted user cannot sign in, refresh or be resolved', async (t) => {
  const { app, database } = await identityApp(t);
  const { input, caller, tokens } = await signUp(app);
  await database.transactShared(({ knex }) =>
    knex('users').where({ id: caller.userId }).update({ deleted_at: knex.fn.now() }),
  );

  t.like(await t.throwsAsync(app.login(anonymous, { email: input.email, password })), { kind: 'unauthenticated' });
  t.like(await t.throwsAsync(app.refreshSignIn(anonymous, tokens)), { kind: 'unauthenticated' });
  t.like(await t.throwsAsync(app.resolveSignIn(caller.signInId)), { kind: 'notFound' });
  t.is(await app.getAuthProfile(caller), null);
});

test('changePassword revokes all other sign-ins, keeps this one, and announces it', async (t) => {
  const { app, announced } = await identityApp(t);
  const { input, caller, tokens } = await signUp(app);
  const other = await app.login(anonymous, { email: input.email, password });
  const { signInId: otherId } = await callerOf(app, other);

  t.true(await app.changePassword(caller, { newPassword: 'another long password' }));

  t.deepEqual(announced.at(-1), { $case: 'userId', value: caller.userId });
  t.like(await t.throwsAsync(app.resolveSignIn(otherId)), { kind: 'notFound' });
  t.like(await t.throwsAsync(app.refreshSignIn(anonymous, other)), { kind: 'unauthenticated' });
  await t.notThrowsAsync(app.refreshSignIn(anonymous, tokens));
  t.is((await app.resolveSignIn(caller.signInId)).userId, caller.userId);
  t.like(await t.throwsAsync(app.login(anonymous, { email: input.email, password })), { kind: 'unauthenticated' });
  await t.notThrowsAsync(app.login(anonymous, { email: input.email, password: 'another long password' }));
});

test('changePassword refuses the same passwords as register, and then changes nothing', async (t) => {
  const { app } = await identityApp(t);
  const { input, caller, tokens } = await signUp(app);
  for (const newPassword of ['short', 'password', input.email, 'x'.repeat(129), 'nul\0nul\0nul']) {
    t.like(await t.throwsAsync(app.changePassword(caller, { newPassword })), {
      kind: 'invalid',
      fields: [{ path: 'input.newPassword' }],
    });
  }
  await t.notThrowsAsync(app.refreshSignIn(anonymous, tokens));
  await t.notThrowsAsync(app.login(anonymous, { email: input.email, password }));
});

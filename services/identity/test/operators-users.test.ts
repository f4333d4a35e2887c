import test from 'ava';
import { anonymous, callerOf, signUp } from './support/identity-app.ts';
import { ofUsers, operator, operatorsApp } from './support/operators.ts';
import { codeOf, signUpWithTwoFactor } from './support/two-factor.ts';

const password = 'correct horse battery';
const ada = operator('ada');

test('the suspension of a user revokes all sign-ins, and lifting it lets them sign in anew', async (t) => {
  const { app, admin, announced } = await operatorsApp(t);
  const { caller, tokens, input } = await signUp(app);
  const { email } = input;
  const elsewhere = await callerOf(app, await app.login(anonymous, { email, password }));
  const other = await signUp(app);
  const { userId } = caller;

  t.like(await admin.setUserSuspension(ada, { userId, suspended: true }), { status: 'SUSPENDED', signIns: 0 });
  t.deepEqual(announced.at(-1), { $case: 'userId', value: userId });
  for (const { signInId } of [caller, elsewhere]) {
    t.like(await t.throwsAsync(app.resolveSignIn(signInId)), { kind: 'notFound' });
  }
  await t.notThrowsAsync(app.resolveSignIn(other.caller.signInId));
  t.like(await t.throwsAsync(app.refreshSignIn(anonymous, tokens)), { kind: 'unauthenticated' });
  t.like(await t.throwsAsync(app.login(anonymous, { email, password })), { reason: 'USER_SUSPENDED' });
  const wrong = { email, password: 'wrong horse battery' };
  t.like(await t.throwsAsync(app.login(anonymous, wrong)), { kind: 'unauthenticated' });

  t.like(await admin.setUserSuspension(ada, { userId, suspended: false }), { status: 'ACTIVE', signIns: 0 });
  t.like(await t.throwsAsync(app.resolveSignIn(caller.signInId)), { kind: 'notFound' });
  await t.notThrowsAsync(app.login(anonymous, { email, password }));
});

test('of sign-ins begun beside a suspension none stays', async (t) => {
  const { app, admin } = await operatorsApp(t);
  const { caller, input } = await signUp(app);
  const logins = Promise.allSettled(
    Array.from({ length: 4 }, () => app.login({ ...anonymous, ip: '192.0.2.7' }, { email: input.email, password })),
  );
  await admin.setUserSuspension(ada, { userId: caller.userId, suspended: true });
  for (const outcome of await logins) {
    if (outcome.status === 'rejected') t.true(['unauthenticated', 'forbidden'].includes(outcome.reason.kind));
    else await t.throwsAsync(callerOf(app, outcome.value), { message: /not found/ });
  }
  const [user] = (await admin.listUsers(ada, ofUsers({ id: caller.userId }))).rows;
  t.is(user?.signIns, 0);
});

test('revoked sign-ins are dead, and the user may sign in again', async (t) => {
  const { app, admin, announced } = await operatorsApp(t);
  const { caller, tokens, input } = await signUp(app);
  t.like(await admin.revokeSignIns(ada, { userId: caller.userId }), { status: 'ACTIVE', signIns: 0 });
  t.deepEqual(announced.at(-1), { $case: 'userId', value: caller.userId });
  t.like(await t.throwsAsync(app.resolveSignIn(caller.signInId)), { kind: 'notFound' });
  t.like(await t.throwsAsync(app.refreshSignIn(anonymous, tokens)), { kind: 'unauthenticated' });
  await t.notThrowsAsync(app.login(anonymous, { email: input.email, password }));
});

test('a removed two-factor secret no longer limits the sign-ins that waited for its code, and the owner is mailed', async (t) => {
  const { app, admin, database, announced, messages, ports } = await operatorsApp(t);
  const { caller, input } = await signUp(app);
  const { userId } = caller;
  const twoFactorSecretSealed = ports.box.seal('canary', 'x');
  await database.transactShared(({ knex }) => knex('users').where({ id: userId }).update({ twoFactorSecretSealed }));
  const limited = await callerOf(app, await app.login(anonymous, { email: input.email, password }));
  t.is((await app.resolveSignIn(limited.signInId)).limitedReason, 'TWO_FACTOR_REQUIRED');

  t.like(await admin.removeTwoFactor(ada, { userId }), { twoFactor: false, signIns: 2 });
  t.is((await app.resolveSignIn(limited.signInId)).limitedReason, null);
  t.deepEqual(announced.at(-1), { $case: 'userId', value: userId });
  t.is((await app.getAuthProfile(limited))?.twoFactorEnabled, false);
  await admin.removeTwoFactor(ada, { userId });
  const sent = (await messages()).filter((message) => JSON.stringify(message).includes('two-factor sign-in is off'));
  t.is(sent.length, 1);
});

test('after the removal of a two-factor secret its user can bind another one at once, wrong codes or not', async (t) => {
  const { app, admin, ports } = await operatorsApp(t);
  const { caller, secret } = await signUpWithTwoFactor({ app, ports });
  const wrong = String((Number(codeOf(ports, secret)) + 500_000) % 1_000_000).padStart(6, '0');
  for (let n = 0; n < 6; n += 1) await t.throwsAsync(app.unbindTwoFactor(caller, { code: wrong }));
  await admin.removeTwoFactor(operator(), { userId: caller.userId });
  const { secret: next } = await app.generateTwoFactor(caller);
  t.true(await app.bindTwoFactor(caller, { secret: next, code: codeOf(ports, next) }));
});

test('sign-ins that are limited for another reason stay so when a two-factor secret is removed', async (t) => {
  const { app, admin, database } = await operatorsApp(t);
  const { caller } = await signUp(app);
  const { userId, signInId } = caller;
  await database.transactShared(async ({ knex }) => {
    await knex('users')
      .where({ id: userId })
      .update({ twoFactorSecretSealed: Buffer.from('x') });
    await knex('sign_ins').where({ id: signInId }).update({ limitedReason: 'EMAIL_PROOF_REQUIRED' });
  });
  await admin.removeTwoFactor(ada, { userId });
  t.is((await app.resolveSignIn(signInId)).limitedReason, 'EMAIL_PROOF_REQUIRED');
});

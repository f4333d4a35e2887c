import test from 'ava';
import { anonymous, callerOf, identityApp, signUp } from './support/identity-app.ts';
import { codeOf } from './support/two-factor.ts';

const password = 'correct horse battery';
const newPassword = 'another long password';

test('REAUTH_MAX_AGE applies to changePassword, bindTwoFactor, unbindTwoFactor, generateApiKey and deleteTenant only', async (t) => {
  const { app, advance, ports } = await identityApp(t, { reauthMaxAgeS: 300 });
  const { caller, input, tokens } = await signUp(app);
  await t.notThrowsAsync(app.generateApiKey(caller));
  advance(301_000);
  await app.refreshSignIn(anonymous, tokens); // a refresh does not reset the age of the sign-in
  let hashed = 0;
  const { hash } = ports.passwords;
  ports.passwords.hash = (...given) => {
    hashed += 1;
    return hash(...given);
  };

  const refused = { kind: 'forbidden', reason: 'REAUTHENTICATE' };
  t.like(await t.throwsAsync(app.changePassword(caller, { newPassword })), refused);
  t.like(await t.throwsAsync(app.generateApiKey(caller)), refused);
  t.like(await t.throwsAsync(app.deleteTenant(caller)), refused);
  t.is(hashed, 0, 'refused before hashing');
  const { secret } = await app.generateTwoFactor(caller);
  const code = codeOf(ports, secret);
  t.like(await t.throwsAsync(app.bindTwoFactor(caller, { secret, code })), refused);
  t.like(await t.throwsAsync(app.unbindTwoFactor(caller, { code })), refused);
  t.like(await t.throwsAsync(app.verifyTwoFactor(caller, { code })), { reason: 'TWO_FACTOR_NOT_BOUND' });
  await t.notThrowsAsync(app.setPrimaryBillingAccount(caller, { billingAccount: 'PLATFORM' }));
  await t.notThrowsAsync(app.switchTenant(caller, { id: caller.tenantId }));
  await t.notThrowsAsync(app.updateTenant(caller, { name: 'Renamed' }));
  await t.notThrowsAsync(app.upsertAvatarConfig(caller, { speakingRate: 2 }));
  await t.notThrowsAsync(app.createTenant(caller, { name: 'Second' }));

  const again = await callerOf(app, await app.login(anonymous, { email: input.email, password }));
  const inTenant = { ...again, tenantId: again.tenantId ?? 0 };
  t.true(await app.bindTwoFactor(inTenant, { secret, code }));
  t.true(await app.unbindTwoFactor(inTenant, { code: codeOf(ports, secret, 1) }));
  t.true(await app.changePassword(inTenant, { newPassword }));
  await t.notThrowsAsync(app.generateApiKey(inTenant));
  t.true(await app.deleteTenant(inTenant));
});

test('a sign-in that becomes too old while its password is hashed cannot set it', async (t) => {
  const { app, advance, ports } = await identityApp(t, { reauthMaxAgeS: 300 });
  const { caller, input } = await signUp(app);
  const { hash } = ports.passwords;
  ports.passwords.hash = async (...given) => {
    const value = await hash(...given);
    advance(301_000);
    return value;
  };
  t.like(await t.throwsAsync(app.changePassword(caller, { newPassword })), { reason: 'REAUTHENTICATE' });
  await t.notThrowsAsync(app.login(anonymous, { email: input.email, password }));
});

import test from 'ava';
import { anybody, callerOf, identityApp, signUp } from './support/identity-app.ts';

const password = 'correct horse battery';
const newPassword = 'another long password';

test('with REAUTH_MAX_AGE a password, an API key and the end of a tenant ask for a recent sign-in, and nothing else does', async (t) => {
  const { app, advance, ports } = await identityApp(t, { reauthMaxAgeS: 300 });
  const { caller, input, tokens } = await signUp(app);
  await t.notThrowsAsync(app.generateApiKey(caller));
  advance(301_000);
  await app.refreshSignIn(tokens); // which makes no sign-in more recent
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
  t.is(hashed, 0, 'it is refused before the work');
  await t.notThrowsAsync(app.updateTenant(caller, { name: 'Renamed' }));
  await t.notThrowsAsync(app.upsertAvatarConfig(caller, { speakingRate: 2 }));
  await t.notThrowsAsync(app.createTenant(caller, { name: 'Second' }));

  const again = await callerOf(app, await app.login(anybody, { email: input.email, password }));
  const inTenant = { ...again, tenantId: again.tenantId ?? 0 };
  t.true(await app.changePassword(inTenant, { newPassword }));
  await t.notThrowsAsync(app.generateApiKey(inTenant));
  t.true(await app.deleteTenant(inTenant));
});

test('a sign-in that is too old when the hash is ready no longer sets the password', async (t) => {
  const { app, advance, ports } = await identityApp(t, { reauthMaxAgeS: 300 });
  const { caller, input } = await signUp(app);
  const { hash } = ports.passwords;
  ports.passwords.hash = async (...given) => {
    const value = await hash(...given);
    advance(301_000);
    return value;
  };
  t.like(await t.throwsAsync(app.changePassword(caller, { newPassword })), { reason: 'REAUTHENTICATE' });
  await t.notThrowsAsync(app.login(anybody, { email: input.email, password }));
});

import test from 'ava';
import { anonymous, callerOf, identityApp, signUp } from './support/identity-app.ts';

const password = 'correct horse battery';
const refused = { kind: 'unauthenticated', message: 'Invalid or expired refresh token' };

test('a refresh returns new tokens for the same sign-in and tenant', async (t) => {
  const { app } = await identityApp(t);
  const { tokens, caller } = await signUp(app);
  const next = await app.refreshSignIn(anonymous, tokens);

  t.not(next.refreshToken, tokens.refreshToken);
  t.not(next.accessToken, tokens.accessToken);
  t.like(next, { expiresIn: 900, refreshExpiresIn: 2_592_000 });
  t.like(await callerOf(app, next), { signInId: caller.signInId, tenantId: caller.tenantId });
  await t.notThrowsAsync(app.refreshSignIn(anonymous, next));
});

test('twenty concurrent exchanges of one refresh token return one successor', async (t) => {
  const { app, replica, database } = await identityApp(t);
  const other = await replica();
  const { tokens, caller } = await signUp(app);
  // Opens all connections and reads the keys first, so that the exchanges really run concurrently.
  await Promise.all(Array.from({ length: 16 }, (_, index) => (index % 2 ? app : other).resolveSignIn(caller.signInId)));
  await signUp(other);
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => (index % 2 ? app : other).refreshSignIn(anonymous, tokens)),
  );

  t.is(new Set(answers.map(({ refreshToken }) => refreshToken)).size, 1);
  t.is(
    (await database.transactShared(({ knex }) => knex('refresh_tokens').where({ sign_in_id: caller.signInId }))).length,
    2,
  );
  await t.notThrowsAsync(app.refreshSignIn(anonymous, answers[7] ?? tokens));
});

test('reusing a token within ten seconds returns the same successor; later it revokes the sign-in', async (t) => {
  const { app, advance, announced } = await identityApp(t);
  const { tokens, caller } = await signUp(app);
  const next = await app.refreshSignIn(anonymous, tokens);
  advance(9_000);
  const again = await app.refreshSignIn(anonymous, tokens);
  t.is(again.refreshToken, next.refreshToken);
  t.is(again.refreshExpiresIn, 2_592_000 - 10);

  advance(2_000);
  t.like(await t.throwsAsync(app.refreshSignIn(anonymous, tokens)), refused);
  t.deepEqual(announced.at(-1), { $case: 'signInId', value: caller.signInId });
  t.like(await t.throwsAsync(app.refreshSignIn(anonymous, next)), refused);
  t.like(await t.throwsAsync(app.resolveSignIn(caller.signInId)), { kind: 'notFound' });
});

test('reusing a token whose successor was used revokes the sign-in, and no other', async (t) => {
  const { app } = await identityApp(t);
  const { tokens, input } = await signUp(app);
  const elsewhere = await app.login(anonymous, { email: input.email, password });
  const next = await app.refreshSignIn(anonymous, tokens);
  const third = await app.refreshSignIn(anonymous, next);

  t.like(await t.throwsAsync(app.refreshSignIn(anonymous, tokens)), refused);
  t.like(await t.throwsAsync(app.refreshSignIn(anonymous, third)), refused);
  await t.notThrowsAsync(app.refreshSignIn(anonymous, elsewhere));
});

test('a refresh token expires thirty days after it was issued', async (t) => {
  const { app, advance, database } = await identityApp(t);
  const { tokens } = await signUp(app);
  const day = 24 * 60 * 60 * 1000;
  advance(29 * day);
  const next = await app.refreshSignIn(anonymous, tokens);
  advance(29 * day);
  const third = await app.refreshSignIn(anonymous, next);
  t.is((await database.transactShared(({ knex }) => knex('refresh_tokens'))).length, 2); // rotation deletes the expired token
  advance(31 * day);
  t.like(await t.throwsAsync(app.refreshSignIn(anonymous, third)), refused);
});

test('malformed and unknown refresh tokens are refused', async (t) => {
  const { app } = await identityApp(t);
  const { tokens } = await signUp(app);
  const { refreshToken } = tokens;
  for (const wrong of [
    '',
    ' ',
    '\0',
    '\ud800',
    'prt_',
    tokens.accessToken,
    `${refreshToken} `,
    refreshToken.slice(0, -1),
    refreshToken.toUpperCase(),
  ]) {
    t.like(await t.throwsAsync(app.refreshSignIn(anonymous, { refreshToken: wrong })), {
      kind: /\0|\ud800/.test(wrong) ? 'invalid' : 'unauthenticated',
    });
  }
  await t.notThrowsAsync(app.refreshSignIn(anonymous, tokens));
});

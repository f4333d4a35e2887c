import { randomBytes } from 'node:crypto';
import { createSecretBox } from '@parley/kernel/secrets/secret-box';
import { replicaOf } from '@parley/testing/test-schema';
import test from 'ava';
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { identitySchema } from '../src/identity-schema.ts';
import { identityKeys } from '../src/keys/identity-keys.ts';
import { anonymous, identityApp, mesh, secretsKey, signUp } from './support/identity-app.ts';
import { operator, operatorsApp } from './support/operators.ts';

const kidOf = async (jwks: JSONWebKeySet, token: string) =>
  (await jwtVerify(token, createLocalJWKSet(jwks), { algorithms: ['ES256'] })).protectedHeader.kid;

test('replicas that start concurrently share one signing key and one key per purpose', async (t) => {
  const { database } = await identityApp(t);
  const replicas = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const pool = await replicaOf(t, database, identitySchema, { poolSize: 2 });
      return identityKeys(pool, createSecretBox([secretsKey]));
    }),
  );
  await Promise.all(replicas.map((keys) => keys.start()));

  t.is(new Set(await Promise.all(replicas.map(async (keys) => (await keys.signingKey()).kid))).size, 1);
  const derived = await Promise.all(replicas.map((keys) => keys.derivationKey('refresh-successor')));
  t.is(new Set(derived.map((key) => Buffer.from(key).toString('hex'))).size, 1);
});

test('the key set has public parts only, and private keys are stored encrypted', async (t) => {
  const { app, database } = await identityApp(t);
  await signUp(app);
  const { keys } = await app.getJwks();

  t.deepEqual(Object.keys(keys[0] ?? {}).sort(), ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
  const [row] = await database.transactShared(({ knex }) => knex('signing_keys'));
  t.false(row.privateJwkSealed.includes('"d"'));
});

test('after a rotation old tokens verify until they expire, and the new key signs once all caches have it', async (t) => {
  const { app, admin, replica, advance } = await operatorsApp(t);
  const { tokens } = await signUp(app);
  const [old] = (await app.getJwks()).keys;
  const states = async () => (await admin.listSigningKeys(operator())).map(({ kid, state }) => [kid, state]);
  t.deepEqual(await states(), [[old?.kid, 'signing']]);
  const { kid: fresh, state } = await admin.rotateSigningKey(operator());
  t.is(state, 'next');

  const during = await app.getJwks();
  t.deepEqual(
    during.keys.map(({ kid }) => kid),
    [fresh, old?.kid],
  );
  t.is(await kidOf(during, (await app.refreshSignIn(anonymous, tokens)).accessToken), old?.kid); // caches may not have the new key yet

  advance(21 * 60_000); // longer than the key set can stay in any cache
  t.is(await kidOf(during, (await signUp(await replica())).tokens.accessToken), old?.kid);

  t.deepEqual(await states(), [
    [fresh, 'next'],
    [old?.kid, 'signing'],
  ]);

  advance(10 * 60_000);
  const next = await signUp(await replica());
  const after = await app.getJwks();
  t.is(await kidOf(after, next.tokens.accessToken), fresh);
  t.is(await kidOf(after, tokens.accessToken), old?.kid);
  t.deepEqual(await states(), [
    [fresh, 'signing'],
    [old?.kid, 'verifying'],
  ]);

  advance(16 * 60_000);
  t.deepEqual(
    (await app.getJwks()).keys.map(({ kid }) => kid),
    [fresh],
  );
  t.deepEqual(await states(), [
    [fresh, 'signing'],
    [old?.kid, 'expired'],
  ]);
});

test('keys that two operators create at once sign one after the other, and tokens of both verify', async (t) => {
  const { app, admin, replica, advance } = await operatorsApp(t);
  const { tokens } = await signUp(app);
  const made = await Promise.all([admin.rotateSigningKey(operator('ada')), admin.rotateSigningKey(operator('bob'))]);
  t.is((await app.getJwks()).keys.length, 3);
  const kids: unknown[] = made.map(({ kid }) => kid);
  for (let minutes = 0; minutes < 45; minutes += 7) {
    const jwks = await app.getJwks();
    const kid = await kidOf(jwks, (await signUp(await replica())).tokens.accessToken);
    t.is(kids.includes(kid), minutes > 30, `${minutes} min`);
    await t.notThrowsAsync(kidOf(jwks, tokens.accessToken));
    advance(7 * 60_000);
  }
});

test('only operators rotate keys', async (t) => {
  const { app } = await identityApp(t);
  const { caller } = await signUp(app);
  for (const other of [caller, mesh]) {
    t.like(await t.throwsAsync(app.rotateSigningKey(other)), { kind: 'forbidden' });
  }
});

test('the start fails if SECRETS_KEYS cannot open the keys, and works with a rotated ring', async (t) => {
  const { app, database } = await identityApp(t);
  await signUp(app);

  await t.throwsAsync(identityKeys(database, createSecretBox([randomBytes(32)])).start(), {
    message: /SECRETS_KEYS does not hold/,
  });
  await t.notThrowsAsync(identityKeys(database, createSecretBox([randomBytes(32), secretsKey])).start());
});

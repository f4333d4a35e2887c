import { randomBytes } from 'node:crypto';
import { createSecretBox } from '@parley/kernel/secret-box';
import { replicaOf } from '@parley/testing/test-schema';
import test from 'ava';
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { identityKeys } from '../src/identity-keys.ts';
import { identitySchema } from '../src/identity-schema.ts';
import { identityApp, mesh, secretsKey, signUp } from './support/identity-app.ts';

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
  const { app, replica, advance } = await identityApp(t);
  const { tokens } = await signUp(app);
  const [old] = (await app.getJwks()).keys;
  const fresh = await app.rotateSigningKey(mesh);

  const during = await app.getJwks();
  t.deepEqual(
    during.keys.map(({ kid }) => kid),
    [fresh, old?.kid],
  );
  t.is(await kidOf(during, (await app.refreshSignIn(tokens)).accessToken), old?.kid); // caches may not have the new key yet

  advance(21 * 60_000); // longer than all caches of the key set together
  t.is(await kidOf(during, (await signUp(await replica())).tokens.accessToken), old?.kid);

  advance(10 * 60_000);
  const next = await signUp(await replica());
  const after = await app.getJwks();
  t.is(await kidOf(after, next.tokens.accessToken), fresh);
  t.is(await kidOf(after, tokens.accessToken), old?.kid);

  advance(16 * 60_000);
  t.deepEqual(
    (await app.getJwks()).keys.map(({ kid }) => kid),
    [fresh],
  );
});

test('only the mesh itself rotates keys', async (t) => {
  const { app } = await identityApp(t);
  const { caller } = await signUp(app);
  for (const other of [caller, { ...mesh, tenantId: 1 }]) {
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

import { createHash } from 'node:crypto';
import test from 'ava';
import { identityApp, signUp } from './support/identity-app.ts';

const sha256 = (key: string) => createHash('sha256').update(key).digest();

test('generateApiKey: a key is returned once, stored as a hash, and resolves to its tenant', async (t) => {
  const { app, database, announced } = await identityApp(t);
  const { caller } = await signUp(app);
  const { key, warning } = await app.generateApiKey(caller);

  t.regex(key, /^sk_[0-9A-Za-z]{49}$/);
  t.regex(warning, /only once/);
  t.regex(warning, /previous key .* stopped working/);
  t.deepEqual(announced.at(-1), { $case: 'tenantId', value: caller.tenantId });
  t.like(await app.resolveApiKey(sha256(key)), { tenantId: caller.tenantId, tenantSuspended: false });
  const [row] = await database.transactShared(({ knex }) => knex('api_keys'));
  t.false(JSON.stringify(row).includes(key.slice(3, 20)));
});

test('generateApiKey: a new key invalidates the previous one at once, on every replica', async (t) => {
  const { app, replica } = await identityApp(t);
  const other = await replica();
  const { caller } = await signUp(app);
  const first = await app.generateApiKey(caller);
  await other.resolveApiKey(sha256(first.key));
  const second = await app.generateApiKey(caller);

  for (const each of [app, other]) {
    t.like(await t.throwsAsync(each.resolveApiKey(sha256(first.key))), { kind: 'notFound' });
    t.is((await each.resolveApiKey(sha256(second.key))).tenantId, caller.tenantId);
  }
});

test('a tenant has the id of its live key, and none before the first', async (t) => {
  const { app } = await identityApp(t);
  const { caller } = await signUp(app);
  const liveKey = async () => (await app.getTenant(caller, caller.tenantId)).apiKeyId;
  t.is(await liveKey(), 0);
  for (let round = 0; round < 2; round += 1) {
    const { key } = await app.generateApiKey(caller);
    t.is(await liveKey(), (await app.resolveApiKey(sha256(key))).apiKeyId);
  }
});

test('many keys are resolved at once, without those that are revoked or unknown', async (t) => {
  const { app } = await identityApp(t);
  const [one, two] = [await signUp(app), await signUp(app)];
  const old = await app.generateApiKey(one.caller);
  const keys = [await app.generateApiKey(one.caller), await app.generateApiKey(two.caller)];
  const found = await app.resolveApiKeys([old, ...keys, { key: 'sk_unknown' }, ...keys].map(({ key }) => sha256(key)));
  const tenantOf = (key: string) => found.find(({ keySha256 }) => keySha256.equals(sha256(key)))?.tenantId;
  t.is(found.length, 2);
  t.deepEqual(
    keys.map(({ key }) => tenantOf(key)),
    [one.caller.tenantId, two.caller.tenantId],
  );
  t.deepEqual(await app.resolveApiKeys([]), []);
  const many = Array.from({ length: 501 }, () => sha256('a'));
  t.like(await t.throwsAsync(app.resolveApiKeys(many)), { kind: 'invalid' });
});

test('of keys created concurrently exactly one stays valid', async (t) => {
  const { app, replica } = await identityApp(t);
  const other = await replica();
  const { caller } = await signUp(app);
  const made = await Promise.all(Array.from({ length: 8 }, (_, n) => (n % 2 ? app : other).generateApiKey(caller)));
  const found = await Promise.allSettled(made.map(({ key }) => app.resolveApiKey(sha256(key))));

  t.is(found.filter(({ status }) => status === 'fulfilled').length, 1);
});

test('a key of a suspended tenant resolves as suspended, and an unknown one is not found', async (t) => {
  const { app } = await identityApp(t);
  const { caller } = await signUp(app);
  const { key } = await app.generateApiKey(caller);
  await app.updateTenant(caller, { isSuspended: true });

  t.true((await app.resolveApiKey(sha256(key))).tenantSuspended);
  for (const wrong of [new Uint8Array(), Buffer.alloc(32), Buffer.alloc(5_000)]) {
    t.like(await t.throwsAsync(app.resolveApiKey(wrong)), { kind: 'notFound' });
  }
});

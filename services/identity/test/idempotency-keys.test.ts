import { createHash, randomUUID } from 'node:crypto';
import type { Caller } from '@parley/kernel/caller';
import { onDatabaseServer } from '@parley/testing/every-database';
import test, { type ExecutionContext } from 'ava';
import type { IdentitySettings } from '../src/config.ts';
import { type App, identityApp, signUp } from './support/identity-app.ts';

const hour = 60 * 60_000;
const leaseMs = 30_000;

const user = (signInId: string, tenantId: number | null = 1): Caller => {
  return { kind: 'user', userId: 3, signInId, tenantId, requestId: 'r' };
};
const byApiKey = (apiKeyId: number, tenantId = 1): Caller => ({ kind: 'apiKey', apiKeyId, tenantId, requestId: 'r' });
const bySession = (sessionId: number, tenantId = 1): Caller => ({
  kind: 'session',
  sessionId,
  tenantId,
  requestId: 'r',
});

const ada = user('00000000-0000-4000-8000-00000000000a');
const sha256 = (request: string) => createHash('sha256').update(request).digest();

interface Asked {
  caller?: Caller;
  key?: string;
  request?: string;
  claimId?: string;
  inAnyTenant?: boolean;
}

async function keysApp(t: ExecutionContext, settings: Partial<IdentitySettings> = {}) {
  const given = await identityApp(t, { idempotencyLeaseMs: leaseMs, ...settings });
  const bind = (app: App) => ({
    /** Claims a key as a gateway does. */
    async claim({ caller = ada, key = 'k', request = 'q', claimId = randomUUID(), inAnyTenant = false }: Asked = {}) {
      const asked = { key, requestSha256: sha256(request), claimId, inAnyTenant };
      const { useId, result } = await app.claimIdempotencyKey(caller, asked);
      return { useId, claimId, result: result?.toString() };
    },
    renew: ({ useId, claimId }: { useId: string; claimId: string }) => app.renewIdempotencyKey({ useId, claimId }),
    end: ({ useId, claimId }: { useId: string; claimId: string }, result?: string) =>
      app.endIdempotencyKey({
        useId,
        claimId,
        result: result === undefined ? undefined : Buffer.from(result),
        resultInPlace: Buffer.from('not kept'),
      }),
  });
  const rows = () => given.database.transactShared(({ knex }) => knex('idempotency_keys'));
  const usage = () => given.database.transactShared(({ knex }) => knex('idempotency_usage'));
  return { ...given, ...bind(given.app), rows, usage, other: async () => bind(await given.replica()) };
}

test('the first result is returned again, on every replica', async (t) => {
  const { claim, end, other } = await keysApp(t);
  const first = await claim();
  t.is(first.result, undefined);
  await end(first, '{"data":{"a":1}}');
  const replica = await other();
  for (const each of [claim, replica.claim]) {
    t.like(await each(), { useId: first.useId, result: '{"data":{"a":1}}' });
  }
});

test('of parallel claims one gets the key, and the others are CONFLICT until its lease ends', async (t) => {
  const { claim, other, advance } = await keysApp(t);
  const replica = await other();
  const outcomes = await Promise.allSettled(
    Array.from({ length: 10 }, (_, n) => (n % 2 ? claim : replica.claim)({ request: 'same' })),
  );
  const won = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  t.is(won.length, 1);
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected')
      t.like(outcome.reason, { kind: 'conflict', reason: 'IDEMPOTENCY_KEY_IN_PROGRESS' });
  }
  advance(leaseMs - 10_000);
  t.like(await t.throwsAsync(claim({ request: 'same' })), { kind: 'conflict' });
  advance(10_000);
  const next = await replica.claim({ request: 'same' });
  t.like(next, { useId: won[0]?.useId, result: undefined }, 'the same use, so that effects find each other');
});

test('a lease lasts while it is renewed', async (t) => {
  const { claim, renew, advance } = await keysApp(t);
  const first = await claim();
  for (let i = 0; i < 5; i++) {
    advance(leaseMs - 10_000);
    await renew(first);
  }
  t.like(await t.throwsAsync(claim()), { kind: 'conflict' });
  advance(leaseMs);
  await renew(first);
  t.is((await claim()).useId, first.useId, 'one that has ended is not renewed');
});

test('the same key with another body is BAD_REQUEST: in progress, with a result and after a failure', async (t) => {
  const { claim, end } = await keysApp(t);
  const refused = { kind: 'invalid', reason: 'IDEMPOTENCY_KEY_REUSED' };
  for (const result of ['done', undefined]) {
    const key = String(result);
    const first = await claim({ key });
    t.like(await t.throwsAsync(claim({ key, request: 'another' })), refused);
    await end(first, result);
    t.like(await t.throwsAsync(claim({ key, request: 'another' })), refused);
    t.is((await claim({ key })).result, result);
  }
});

test('without a result the next retry runs at once, as the same use', async (t) => {
  const { claim, end } = await keysApp(t);
  const first = await claim();
  await end(first);
  const second = await claim();
  t.like(second, { useId: first.useId, result: undefined });
  await end(second, 'at last');
  t.is((await claim()).result, 'at last');
});

test("a caller that lost its lease to a retry cannot renew, end or overwrite the retry's claim", async (t) => {
  const { claim, end, renew, advance } = await keysApp(t);
  const slow = await claim();
  advance(leaseMs);
  const retry = await claim();
  await renew(slow);
  await end(slow);
  t.like(await t.throwsAsync(claim()), { kind: 'conflict' }, 'the retry still holds it');
  await end(slow, 'late');
  await end(retry, 'right');
  await end(slow, 'late');
  await end(retry);
  t.is((await claim()).result, 'right');
});

test('a result that comes after its lease is kept where nobody has claimed the key since', async (t) => {
  const { claim, end, advance } = await keysApp(t);
  const slow = await claim();
  advance(2 * leaseMs);
  await end(slow, 'late');
  t.is((await claim()).result, 'late');
});

test('a claim that is repeated because its answer got lost is the same claim', async (t) => {
  const { claim } = await keysApp(t);
  const first = await claim();
  t.deepEqual(await claim({ claimId: first.claimId }), first);
});

test('a key is valid for 24 hours, and then stands for a new use, whatever the body', async (t) => {
  const { claim, end, advance } = await keysApp(t);
  const first = await claim();
  advance(leaseMs);
  await end(first, 'first');
  advance(24 * hour - 10_000);
  t.is((await claim()).result, 'first', 'from the result on');
  advance(10_000);
  const second = await claim({ request: 'another' });
  t.is(second.result, undefined);
  t.not(second.useId, first.useId, 'effects of the first use are not those of the second');
  await end(second, 'second');
  t.is((await claim({ request: 'another' })).result, 'second');
});

test('a request that runs when its key expires keeps it', async (t) => {
  const { claim, end, renew, advance } = await keysApp(t, { idempotencyLeaseMs: 25 * hour });
  const first = await claim();
  advance(24 * hour + 1_000);
  await renew(first);
  t.like(await t.throwsAsync(claim()), { kind: 'conflict' });
  await end(first, 'long');
  t.is((await claim()).result, 'long');
});

test('each tenant, sign-in, API key and session has keys of its own', async (t) => {
  const { claim } = await keysApp(t);
  const callers = [
    ada,
    user('00000000-0000-4000-8000-00000000000b'),
    { ...ada, tenantId: 2 },
    { ...user('00000000-0000-4000-8000-00000000000c'), tenantId: null },
    byApiKey(1),
    byApiKey(2),
    byApiKey(1, 2),
    bySession(1),
    bySession(1, 2),
  ];
  const claims = await Promise.all(callers.map((caller) => claim({ caller })));
  t.is(new Set(claims.map(({ useId }) => useId)).size, callers.length);
  for (const caller of callers) t.like(await t.throwsAsync(claim({ caller })), { kind: 'conflict' });
});

test('a request that may switch the tenant has the same key in all tenants of the sign-in', async (t) => {
  const { claim, end } = await keysApp(t);
  const first = await claim({ inAnyTenant: true });
  await end(first, 'moved');
  for (const tenantId of [1, 2, null]) {
    const retried = await claim({ caller: { ...ada, tenantId }, inAnyTenant: true });
    t.is(retried.result, 'moved', String(tenantId));
  }
  const other = user('00000000-0000-4000-8000-00000000000b');
  t.is((await claim({ caller: other, inAnyTenant: true })).result, undefined);
});

test('a key has 1 to 255 printable characters', async (t) => {
  const { claim, rows } = await keysApp(t);
  for (const key of ['a', randomUUID(), 'x'.repeat(255), ' ~"{}\\']) t.is((await claim({ key })).result, undefined);
  for (const key of ['', 'x'.repeat(256), 'tab\there', 'nul\0', 'line\nfeed', '\x7f', 'é', '🙂']) {
    t.like(await t.throwsAsync(claim({ key })), { kind: 'invalid', fields: [{ path: 'Idempotency-Key' }] });
  }
  t.is((await rows()).length, 4, 'what is refused stores nothing');
});

test('anonymous callers and services cannot use keys', async (t) => {
  const { claim } = await keysApp(t);
  for (const caller of [
    { kind: 'anonymous', tenantId: null, requestId: 'r' },
    { kind: 'service', service: 'gateway', tenantId: 1, requestId: 'r' },
  ] as const) {
    t.like(await t.throwsAsync(claim({ caller })), { kind: 'forbidden' });
  }
});

test('neither result, key nor what was asked can be read or guessed from the rows, nor a result be moved to another', async (t) => {
  const { app, database, claim, end, rows } = await keysApp(t);
  const password = 'changePassword 123456';
  await end(await claim({ key: 'canary-key', request: password }), 'canary-result');
  const [row] = await rows();
  for (const secret of ['canary-key', 'canary-result', password]) {
    const stored = Object.values(row ?? {}).map((value) =>
      Buffer.isBuffer(value) ? value.toString('latin1') : String(value),
    );
    t.false(stored.some((value) => value.includes(secret)));
  }
  const hashes = [sha256(password), sha256(sha256(password).toString('hex'))];
  t.false(hashes.some((hash) => hash.equals(row.requestHmac)));

  const thief = byApiKey(9);
  await end(await claim({ caller: thief, key: 'mine', request: password }), 'of the thief');
  await database.transactShared(({ knex }) =>
    knex('idempotency_keys').where({ caller: 'API key 9' }).update({ resultSealed: row.resultSealed }),
  );
  const asked = { key: 'mine', requestSha256: sha256(password), claimId: randomUUID(), inAnyTenant: false };
  await t.throwsAsync(app.claimIdempotencyKey(thief, asked), { message: /unable to authenticate/iu });
});

test('all expired keys are removed without any claim, in batches, and no others', async (t) => {
  const { app, claim, end, advance, rows, usage } = await keysApp(t);
  const old = await Promise.all(Array.from({ length: 120 }, (_, n) => claim({ key: `old ${n}` })));
  for (const each of old.slice(0, 90)) await end(each, 'old');
  advance(23 * hour);
  const running = await claim({ key: 'running' });
  await end(await claim({ key: 'young' }), 'young');
  advance(hour);
  await Promise.all([app.sweepIdempotencyKeys(), app.sweepIdempotencyKeys()]);
  t.is((await rows()).length, 2);
  t.is((await usage()).length, 1);
  await end(running);
  t.is((await claim({ key: 'young' })).result, 'young');
});

test('answers of one tenant beyond IDENTITY_IDEMPOTENCY_BYTES_PER_TENANT are not kept, until others have expired', async (t) => {
  const { app, claim, end, advance, usage } = await keysApp(t, { idempotencyBytesPerTenant: 1_000 });
  const large = 'x'.repeat(400);
  for (const key of ['a', 'b', 'c']) await end(await claim({ key }), large);
  for (const key of ['a', 'b']) t.is((await claim({ key })).result, large);
  t.is((await claim({ key: 'c' })).result, 'not kept');
  const elsewhere = [
    { ...ada, tenantId: 2 },
    { ...ada, tenantId: null },
    user('00000000-0000-4000-8000-00000000000b', null),
  ];
  for (const caller of elsewhere) {
    await end(await claim({ key: 'c', caller }), large);
    t.is((await claim({ key: 'c', caller })).result, large, 'of another tenant, or of a caller without one');
  }
  await end(await claim({ key: 'failed' }));
  advance(24 * hour);
  await end(await claim({ key: 'a' }), large);
  t.is((await claim({ key: 'a' })).result, large, 'in place of the expired one');
  await end(await claim({ key: 'd' }), large);
  t.is((await claim({ key: 'd' })).result, 'not kept');
  await app.sweepIdempotencyKeys();
  await end(await claim({ key: 'e' }), large);
  t.is((await claim({ key: 'e' })).result, large);
  const [only] = await usage();
  t.is((await usage()).length, 1);
  t.true(Number(only.keptBytes) > 400 && Number(only.keptBytes) < 1_000);
});

test('parallel answers do not exceed the bytes of their tenant', async (t) => {
  const { claim, end, rows } = await keysApp(t, { idempotencyBytesPerTenant: 1_000 });
  const claims = await Promise.all(Array.from({ length: 6 }, (_, n) => claim({ key: `k${n}` })));
  await Promise.all(claims.map((each) => end(each, 'x'.repeat(400))));
  const counted = (await rows()).filter(({ countedBytes }: { countedBytes: number }) => countedBytes > 0);
  t.is(counted.length, 2);
});

test('a deleted tenant leaves no keys', async (t) => {
  const { app, claim, end, rows, usage } = await keysApp(t);
  const { caller } = await signUp(app);
  await end(await claim({ caller }), 'of the tenant');
  const running = await claim({ caller, key: 'running' });
  await end(await claim({ caller: { ...caller, tenantId: caller.tenantId + 1 } }), 'of another');
  await app.deleteTenant(caller);
  await end(running, 'late');
  t.deepEqual([(await rows()).length, (await usage()).length], [1, 1]);
});

test('a key of a sign-in in all of its tenants is the same key in one of them', async (t) => {
  const { claim, end, advance } = await keysApp(t);
  const reused = { kind: 'invalid', reason: 'IDEMPOTENCY_KEY_REUSED' };
  await end(await claim({ key: 'first', inAnyTenant: true, request: 'in all tenants' }), 'made');
  t.like(await t.throwsAsync(claim({ key: 'first', request: 'in one' })), reused);
  await end(await claim({ key: 'second', request: 'in one' }), 'made');
  t.like(await t.throwsAsync(claim({ key: 'second', inAnyTenant: true, request: 'in all tenants' })), reused);
  t.is((await claim({ key: 'second', request: 'in one' })).result, 'made');
  advance(24 * hour);
  await t.notThrowsAsync(claim({ key: 'first', request: 'in one' }));
  // A sign-in without a tenant uses the key in every tenant that it may switch to later.
  await end(await claim({ key: 'third', caller: { ...ada, tenantId: null }, request: 'in none' }), 'made');
  t.like(await t.throwsAsync(claim({ key: 'third', request: 'in one' })), reused);
});

onDatabaseServer(({ test: serverTest }) => {
  serverTest('of claims at once in one tenant and in all of them, one is admitted', async (t) => {
    const { claim } = await keysApp(t);
    for (let n = 0; n < 20; n += 1) {
      const key = `at once ${n}`;
      const both = [claim({ key, inAnyTenant: true, request: 'one' }), claim({ key, request: 'another' })];
      const outcomes = await Promise.allSettled(both);
      t.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 1, key);
    }
  });
});

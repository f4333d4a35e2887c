import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { addMember, anonymous, callerOf, type IdentityApp, identityApp, signUp } from './support/identity-app.ts';
import { isWaitedFor } from './support/is-waited-for.ts';
import { codeOf, holdClock, signUpWithTwoFactor } from './support/two-factor.ts';

const password = 'correct horse battery';
const wrong = { kind: 'invalid', message: 'The code is not valid', reason: undefined, fields: [] };
const notOffered = {
  kind: 'invalid',
  fields: [{ path: 'input.secret', message: 'was not offered to you within the last 10 minutes' }],
};
const notBound = { kind: 'invalid', reason: 'TWO_FACTOR_NOT_BOUND' };

async function signInAgain({ app }: Pick<IdentityApp, 'app'>, email: string) {
  return callerOf(app, await app.login(anonymous, { email, password }));
}

test('rule 11: a secret is generated, then bound by a current code of it, and unbound by a current code', async (t) => {
  const { app, ports } = await identityApp(t);
  const tick = holdClock(ports);
  const { caller, input } = await signUp(app);
  const { secret, output } = await app.generateTwoFactor(caller);
  t.is(new URL(output).searchParams.get('secret'), secret);
  t.is(decodeURIComponent(new URL(output).pathname), `/Parley:${input.email}`);
  t.false((await app.getAuthProfile(caller))?.twoFactorEnabled, 'nothing is bound yet');

  t.like(await t.throwsAsync(app.bindTwoFactor(caller, { secret, code: codeOf(ports, secret, 5) })), wrong);
  t.true(await app.bindTwoFactor(caller, { secret, code: codeOf(ports, secret) }));
  t.true((await app.getAuthProfile(caller))?.twoFactorEnabled);
  tick(1);
  t.like(await t.throwsAsync(app.unbindTwoFactor(caller, { code: codeOf(ports, secret, 5) })), wrong);
  t.true(await app.unbindTwoFactor(caller, { code: codeOf(ports, secret) }));
  t.false((await app.getAuthProfile(caller))?.twoFactorEnabled);
});

test('the URI of a user without an email has the name', async (t) => {
  const { app, database } = await identityApp(t);
  const { caller } = await signUp(app, { fullname: 'Ada Lovelace' });
  await database.transactShared(({ knex }) => knex('users').update({ email: null }));
  const { output } = await app.generateTwoFactor(caller);
  t.is(decodeURIComponent(new URL(output).pathname), '/Parley:Ada Lovelace');
});

test('bindTwoFactor takes only a secret that was offered to this user within the last 10 minutes', async (t) => {
  const { app, ports, advance } = await identityApp(t);
  const { caller: ada } = await signUp(app);
  const { caller: eve } = await signUp(app);
  const bind = (caller: typeof ada, secret: string) =>
    app.bindTwoFactor(caller, { secret, code: codeOf(ports, secret) });
  const { secret } = await app.generateTwoFactor(ada);

  t.like(await t.throwsAsync(bind(eve, secret)), notOffered);
  t.like(await t.throwsAsync(bind(ada, 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ')), notOffered);
  t.like(await t.throwsAsync(app.bindTwoFactor(ada, { secret: secret.toLowerCase(), code: '' })), notOffered);
  await app.generateTwoFactor(ada); // as if the page was opened twice
  advance(10 * 60_000 - 10_000);
  t.true(await bind(ada, secret));

  const { secret: late } = await app.generateTwoFactor(eve);
  advance(10 * 60_000 + 1);
  t.like(await t.throwsAsync(bind(eve, late)), notOffered);
});

test('of many offers to one user the newest five are kept, and expired ones of anybody are removed', async (t) => {
  const { app, ports, database, advance } = await identityApp(t);
  const { caller } = await signUp(app);
  const { caller: other } = await signUp(app);
  const count = async () => (await database.transactShared(({ knex }) => knex('two_factor_offers'))).length;
  await app.generateTwoFactor(other);
  const offers = [];
  for (let n = 0; n < 6; n += 1) offers.push(await app.generateTwoFactor(caller));
  t.is(await count(), 1 + 5);
  const [first = { secret: '' }, second = { secret: '' }] = offers;
  const bind = (secret: string) => app.bindTwoFactor(caller, { secret, code: codeOf(ports, secret) });
  t.like(await t.throwsAsync(bind(first.secret)), notOffered);
  t.true(await bind(second.secret));
  t.is(await count(), 1, 'none is of use any more');
  advance(11 * 60_000);
  await app.generateTwoFactor(caller);
  t.is(await count(), 1, 'that of the other user has expired');
});

test('bindTwoFactor is refused while a secret is bound; generateTwoFactor changes nothing of it', async (t) => {
  const identity = await identityApp(t);
  const { app, ports } = identity;
  const tick = holdClock(ports);
  const { caller, code } = await signUpWithTwoFactor(identity);
  tick(1);
  const { secret: next } = await app.generateTwoFactor(caller);
  const bindNext = () => app.bindTwoFactor(caller, { secret: next, code: codeOf(ports, next) });
  t.like(await t.throwsAsync(bindNext()), { kind: 'invalid', reason: 'TWO_FACTOR_BOUND' });
  t.true(await app.verifyTwoFactor(caller, { code: code() }));
  tick(1);
  t.true(await app.unbindTwoFactor(caller, { code: code() }));
  t.true(await bindNext(), 'in the same time step, which counts for each secret by itself');
});

test('a code of this time step, the one before and the next is accepted, no other', async (t) => {
  const identity = await identityApp(t);
  const { app, ports } = identity;
  const tick = holdClock(ports);
  const { caller, code } = await signUpWithTwoFactor(identity);
  for (const [steps, accepted] of [
    [-2, false],
    [2, false],
    [-1, true],
    [0, true],
    [1, true],
  ] as const) {
    tick(4);
    const verifying = app.verifyTwoFactor(caller, { code: code(steps) });
    if (accepted) t.true(await verifying, String(steps));
    else t.like(await t.throwsAsync(verifying), wrong, String(steps));
  }
});

test('a time step is accepted once, whichever operation takes it, and none before it', async (t) => {
  const identity = await identityApp(t);
  const { app, ports } = identity;
  const tick = holdClock(ports);
  const { caller, code } = await signUpWithTwoFactor(identity);
  t.like(await t.throwsAsync(app.verifyTwoFactor(caller, { code: code() })), wrong, 'it was used to bind');
  t.like(await t.throwsAsync(app.unbindTwoFactor(caller, { code: code() })), wrong);
  t.true(await app.verifyTwoFactor(caller, { code: code(1) }));
  tick(1);
  for (const steps of [-1, 0]) {
    t.like(await t.throwsAsync(app.verifyTwoFactor(caller, { code: code(steps) })), wrong);
    t.like(await t.throwsAsync(app.unbindTwoFactor(caller, { code: code(steps) })), wrong);
  }
  t.true(await app.unbindTwoFactor(caller, { code: code(1) }));
});

test('of 20 parallel uses of one code over two replicas, to bind, verify and unbind, one succeeds', async (t) => {
  const identity = await identityApp(t);
  const { app, ports, replica, messages } = identity;
  const apps = [app, await replica()];
  const { caller } = await signUp(app);
  const { secret } = await app.generateTwoFactor(caller);
  const race = async (code: string, uses: ((of: typeof app) => Promise<boolean>)[]) => {
    const twenty = Array.from({ length: 20 }, () => uses)
      .flat()
      .slice(0, 20);
    const outcomes = await Promise.allSettled(twenty.map(async (use, n) => use(apps[n % 2] as typeof app)));
    t.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 1, code);
    for (const outcome of outcomes) if (outcome.status === 'rejected') t.like(outcome.reason, { kind: 'invalid' });
  };
  const verify = (code: string) => (of: typeof app) => of.verifyTwoFactor(caller, { code });
  const unbind = (code: string) => (of: typeof app) => of.unbindTwoFactor(caller, { code });
  const isBound = async () => (await app.getAuthProfile(caller))?.twoFactorEnabled;
  const [first, second] = [codeOf(ports, secret), codeOf(ports, secret, 1)];

  const bind = (of: typeof app) => of.bindTwoFactor(caller, { secret, code: first });
  await race(first, [verify(first), bind, unbind(first)]);
  t.true(await isBound());
  await race(second, [verify(second), unbind(second)]);
  t.is((await messages()).length, (await isBound()) ? 1 : 2);
});

test('while a second factor is bound every sign-in is limited until a code was verified in it', async (t) => {
  const identity = await identityApp(t);
  const { app, ports, announced } = identity;
  const tick = holdClock(ports);
  const { caller, input } = await signUp(app);
  const phone = await signInAgain(identity, input.email);
  const { caller: stranger } = await signUp(app);
  const limits = async (...callers: (typeof phone)[]) =>
    Promise.all(callers.map(async ({ signInId }) => (await app.resolveSignIn(signInId)).limitedReason));

  const { secret } = await app.generateTwoFactor(caller);
  await app.bindTwoFactor(caller, { secret, code: codeOf(ports, secret) });
  t.deepEqual(announced.at(-1), { $case: 'userId', value: caller.userId });
  const laptop = await signInAgain(identity, input.email);
  const required = 'TWO_FACTOR_REQUIRED';
  t.deepEqual(await limits(caller, phone, laptop, stranger), [null, required, required, null]);

  tick(1);
  t.true(await app.verifyTwoFactor(laptop, { code: codeOf(ports, secret) }));
  t.deepEqual(announced.at(-1), { $case: 'signInId', value: laptop.signInId });
  t.deepEqual(await limits(caller, phone, laptop), [null, required, null], 'this sign-in only');
  const tablet = await signInAgain(identity, input.email);
  tick(1);
  t.true(await app.verifyTwoFactor(caller, { code: codeOf(ports, secret) }), 'in a complete one, too');

  tick(1);
  t.true(await app.unbindTwoFactor(laptop, { code: codeOf(ports, secret) }));
  t.deepEqual(announced.at(-1), { $case: 'userId', value: caller.userId });
  t.deepEqual(await limits(caller, phone, laptop, tablet), [null, null, null, null]);
  t.deepEqual(await limits(await signInAgain(identity, input.email)), [null]);
});

test('a limited sign-in is refreshed, and as limited then', async (t) => {
  const identity = await identityApp(t);
  const { app } = identity;
  const { input } = await signUpWithTwoFactor(identity);
  const tokens = await app.login(anonymous, { email: input.email, password });
  const { signInId } = await callerOf(app, await app.refreshSignIn(anonymous, tokens));
  t.is((await app.resolveSignIn(signInId)).limitedReason, 'TWO_FACTOR_REQUIRED');
});

test('no code ends the limit of a sign-in that waits for a proof of the email', async (t) => {
  const identity = await identityApp(t);
  const { app, ports, database } = identity;
  const tick = holdClock(ports);
  const { caller, input, code } = await signUpWithTwoFactor(identity);
  await database.transactShared(({ knex }) => knex('users').update({ email_proof_required: true }));
  const limited = await signInAgain(identity, input.email);
  const reason = async () => (await app.resolveSignIn(limited.signInId)).limitedReason;
  t.is(await reason(), 'EMAIL_PROOF_REQUIRED');
  tick(1);
  t.true(await app.verifyTwoFactor(limited, { code: code() }));
  t.is(await reason(), 'EMAIL_PROOF_REQUIRED');
  tick(1);
  t.true(await app.unbindTwoFactor(caller, { code: code() }));
  t.is(await reason(), 'EMAIL_PROOF_REQUIRED');
  tick(1);
  const { secret } = await app.generateTwoFactor(caller);
  t.true(await app.bindTwoFactor(caller, { secret, code: codeOf(ports, secret) }));
  t.is(await reason(), 'EMAIL_PROOF_REQUIRED');
});

test('without a bound secret, verifyTwoFactor and unbindTwoFactor are refused, also right after unbinding', async (t) => {
  const identity = await identityApp(t);
  const { app, ports } = identity;
  const tick = holdClock(ports);
  const { caller: none } = await signUp(app);
  const { caller, code } = await signUpWithTwoFactor(identity);
  tick(1);
  await app.unbindTwoFactor(caller, { code: code() });
  for (const each of [none, caller]) {
    t.like(await t.throwsAsync(app.verifyTwoFactor(each, { code: code(1) })), notBound);
    t.like(await t.throwsAsync(app.unbindTwoFactor(each, { code: code(1) })), notBound);
  }
});

test('a login whose password was checked before a second factor was bound is limited', async (t) => {
  const identity = await identityApp(t);
  const { app, ports } = identity;
  const { caller, input } = await signUp(app);
  const { secret } = await app.generateTwoFactor(caller);
  const { verify } = ports.passwords;
  const [checked, bound] = [createGate(), createGate()];
  ports.passwords.verify = async (...given) => {
    const matches = await verify(...given);
    checked.open();
    await bound.pass();
    return matches;
  };
  const login = signInAgain(identity, input.email);
  await checked.pass();
  await app.bindTwoFactor(caller, { secret, code: codeOf(ports, secret) });
  bound.open();
  t.is((await app.resolveSignIn((await login).signInId)).limitedReason, 'TWO_FACTOR_REQUIRED');
});

test('a login waits for a second factor that is being bound, and is limited then', async (t) => {
  const identity = await identityApp(t);
  const { app, database } = identity;
  const { caller, input } = await signUp(app);
  const [written, enough] = [createGate(), createGate()];
  const binding = database.transactShared(async ({ knex }) => {
    await knex('users')
      .where({ id: caller.userId })
      .update({ twoFactorSecretSealed: Buffer.of(1) });
    written.open();
    await enough.pass();
    await isWaitedFor(knex);
  });
  await written.pass();
  const login = signInAgain(identity, input.email);
  enough.open();
  await binding;
  t.is((await app.resolveSignIn((await login).signInId)).limitedReason, 'TWO_FACTOR_REQUIRED');
});

test('an owner is told once that a second factor was bound, and once that it was unbound; not of refused codes', async (t) => {
  const identity = await identityApp(t);
  const { app, ports, messages } = identity;
  const tick = holdClock(ports);
  const { caller, input, code } = await signUpWithTwoFactor(identity);
  await t.throwsAsync(app.verifyTwoFactor(caller, { code: '000000' }));
  tick(1);
  await app.verifyTwoFactor(caller, { code: code() });
  await t.throwsAsync(app.unbindTwoFactor(caller, { code: code() }));
  tick(1);
  await app.unbindTwoFactor(caller, { code: code() });
  t.like(await messages(), [
    { to: { email: input.email }, subject: 'Parley: two-factor sign-in is on' },
    { to: { email: input.email }, subject: 'Parley: two-factor sign-in is off' },
  ]);
});

test('a user without a tenant, and one of a suspended tenant, binds, verifies and unbinds', async (t) => {
  const identity = await identityApp(t);
  const { app, ports } = identity;
  const tick = holdClock(ports);
  const { caller: suspended } = await signUp(app);
  await app.updateTenant(suspended, { isSuspended: true });
  const { caller } = await signUp(app);
  await app.deleteTenant(caller);
  for (const each of [suspended, { ...caller, tenantId: null }]) {
    const { secret } = await app.generateTwoFactor(each);
    t.true(await app.bindTwoFactor(each, { secret, code: codeOf(ports, secret) }));
    tick(1);
    t.true(await app.verifyTwoFactor(each, { code: codeOf(ports, secret) }));
    tick(1);
    t.true(await app.unbindTwoFactor(each, { code: codeOf(ports, secret) }));
  }
});

test('a second factor is of the user: an owner who has none is not limited by that of a member', async (t) => {
  const identity = await identityApp(t);
  const { app } = identity;
  const { caller: owner } = await signUp(app);
  const { caller } = await signUpWithTwoFactor(identity);
  await addMember(identity, caller, owner.tenantId);
  t.is((await app.resolveSignIn(owner.signInId)).limitedReason, null);
});

test('secrets are not stored in plain text, and are encrypted for their user', async (t) => {
  const identity = await identityApp(t);
  const { app, ports, database } = identity;
  const tick = holdClock(ports);
  const { caller, secret } = await signUpWithTwoFactor(identity);
  const { secret: offered } = await app.generateTwoFactor(caller);
  const { caller: eve, code } = await signUpWithTwoFactor(identity);
  const { tables, rows } = await database.transactShared(async ({ knex }) => {
    const { rows: tables } = await knex.raw(
      `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema()`,
    );
    const readable = tables
      .map(({ name }: { name: string }) => name)
      .filter((name: string) => /users|sign|offers|jobs|outbox/u.test(name));
    const found = [];
    for (const name of readable)
      found.push(...(await knex.select(knex.raw('to_jsonb(each) AS row')).from(`${name} as each`)));
    return { tables: readable as string[], rows: JSON.stringify(found) };
  });
  t.true(tables.includes('two_factor_offers') && tables.includes('jobs') && rows.length > 1000);
  for (const each of [secret, offered]) {
    t.false(rows.includes(each));
    t.false(rows.includes(Buffer.from(each).toString('hex')));
  }

  // A secret that is copied to another user in the database cannot be decrypted there.
  await database.transactShared(async ({ knex }) => {
    const { twoFactorSecretSealed } = await knex('users').where({ id: eve.userId }).first('twoFactorSecretSealed');
    await knex('users').where({ id: caller.userId }).update({ twoFactorSecretSealed });
  });
  tick(1);
  await t.throwsAsync(app.verifyTwoFactor(caller, { code: code() }), { message: /unable to authenticate/u });
});

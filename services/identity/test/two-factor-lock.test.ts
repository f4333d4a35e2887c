import test from 'ava';
import { type App, anonymous, callerOf, type IdentityApp, identityApp, signUp } from './support/identity-app.ts';
import { codeOf, holdClock, signUpWithTwoFactor } from './support/two-factor.ts';

const password = 'correct horse battery';

/** Returns a code that is wrong in every time step that the server accepts. */
function wrongCodeOf({ ports }: Pick<IdentityApp, 'ports'>, secret: string, n = 0): string {
  const right = [-1, 0, 1].map((steps) => codeOf(ports, secret, steps));
  const codes = Array.from({ length: 20 }, (_, each) => String(100_000 + each)).filter((code) => !right.includes(code));
  return codes[n] ?? '';
}

const shown = (error: unknown) => {
  const { kind, message, reason, fields } = error as Record<string, unknown>;
  return { kind, message, reason, fields };
};

async function lockedUser(identity: IdentityApp) {
  const tick = holdClock(identity.ports);
  const user = await signUpWithTwoFactor(identity);
  const refusals: unknown[] = [];
  for (let n = 0; n < 5; n += 1) {
    const code = wrongCodeOf(identity, user.secret, n);
    await identity.app.verifyTwoFactor(user.caller, { code }).catch((error: unknown) => refusals.push(shown(error)));
  }
  tick(1);
  return { ...user, tick, refusals };
}

test('five wrong codes lock for 15 minutes, and a right code is then answered like a wrong one', async (t) => {
  const identity = await identityApp(t);
  const { app, advance } = identity;
  const { caller, code, refusals } = await lockedUser(identity);
  t.is(refusals.length, 5);
  for (const call of [
    () => app.verifyTwoFactor(caller, { code: code() }),
    () => app.unbindTwoFactor(caller, { code: code() }),
  ]) {
    refusals.push(shown(await t.throwsAsync(call())));
  }
  t.is(new Set(refusals.map((each) => JSON.stringify(each))).size, 1, JSON.stringify(refusals));

  advance(15 * 60_000 - 10_000);
  await t.throwsAsync(app.verifyTwoFactor(caller, { code: code() }), { message: 'The code is not valid' });
  advance(10_001);
  t.true(
    await app.verifyTwoFactor(caller, { code: code() }),
    'no refused attempt has used it up, or prolonged the lock',
  );
});

test('the lock is of the user: over all sign-ins, operations and replicas, and after a restart', async (t) => {
  const identity = await identityApp(t);
  const { app, replica } = identity;
  const { input, caller, secret } = await signUpWithTwoFactor(identity);
  const phone = await callerOf(app, await app.login(anonymous, { email: input.email, password }));
  const { caller: other, code: otherCode } = await signUpWithTwoFactor(identity);
  const elsewhere = await replica();
  const wrong = (n: number) => ({ code: wrongCodeOf(identity, secret, n) });
  const attempts = [
    app.verifyTwoFactor(caller, wrong(0)),
    app.unbindTwoFactor(caller, wrong(1)),
    app.verifyTwoFactor(phone, wrong(2)),
    elsewhere.verifyTwoFactor(phone, wrong(3)),
    elsewhere.unbindTwoFactor(caller, wrong(4)),
  ];
  for (const attempt of attempts) await t.throwsAsync(attempt);

  const restarted = await replica();
  for (const each of [app, elsewhere, restarted]) {
    const code = codeOf(identity.ports, secret, 1);
    await t.throwsAsync(each.verifyTwoFactor(phone, { code }), { message: 'The code is not valid' });
  }
  t.true(await app.verifyTwoFactor(other, { code: otherCode(1) }), 'another user is not locked');
});

test('wrong codes for a secret that is not bound yet count, too', async (t) => {
  const identity = await identityApp(t);
  const { app, ports } = identity;
  const { caller } = await signUp(app);
  const { secret } = await app.generateTwoFactor(caller);
  for (let n = 0; n < 5; n += 1)
    await t.throwsAsync(app.bindTwoFactor(caller, { secret, code: wrongCodeOf(identity, secret, n) }));
  const refused = await t.throwsAsync(app.bindTwoFactor(caller, { secret, code: codeOf(ports, secret) }));
  t.is(refused?.message, 'The code is not valid');
});

test('of many wrong codes at once five are counted, and the right one among those after them is refused', async (t) => {
  const identity = await identityApp(t);
  const { app, replica, database } = identity;
  holdClock(identity.ports);
  const { caller, secret, code } = await signUpWithTwoFactor(identity);
  const apps = [app, await replica()];
  const guess = (n: number) => (apps[n % 2] as App).verifyTwoFactor(caller, { code: wrongCodeOf(identity, secret, n) });
  const outcomes = await Promise.allSettled(Array.from({ length: 15 }, (_, n) => guess(n)));
  t.true(outcomes.every(({ status }) => status === 'rejected'));
  await t.throwsAsync(app.verifyTwoFactor(caller, { code: code(1) }), { message: 'The code is not valid' });
  const [user] = await database.transactShared(({ knex }) =>
    knex('users').where({ id: caller.userId }).select('twoFactorWrongCodes', 'twoFactorLockedUntil'),
  );
  t.is(user.twoFactorWrongCodes, 0, 'those during the lock were not counted');
});

test('a right code and the end of a lock reset the count; a code that was used before does not count', async (t) => {
  const identity = await identityApp(t);
  const { app, ports, advance } = identity;
  const tick = holdClock(ports);
  const { caller, secret, code } = await signUpWithTwoFactor(identity);
  const fail = async (times: number) => {
    for (let n = 0; n < times; n += 1) {
      await t.throwsAsync(app.verifyTwoFactor(caller, { code: wrongCodeOf(identity, secret, n) }));
    }
  };
  const succeed = async () => {
    tick(1);
    return app.verifyTwoFactor(caller, { code: code() });
  };
  for (let round = 0; round < 3; round += 1) {
    await fail(4);
    t.true(await succeed());
    for (let n = 0; n < 6; n += 1) await t.throwsAsync(app.verifyTwoFactor(caller, { code: code() }));
  }
  await fail(5);
  await t.throwsAsync(succeed());
  advance(15 * 60_000);
  await fail(4);
  t.true(await succeed());
});

test('a malformed code is refused and counted like a wrong one', async (t) => {
  const identity = await identityApp(t);
  const { app } = identity;
  const { caller, code } = await signUpWithTwoFactor(identity);
  for (const malformed of ['', '12345', 'abcdef', '1234567', "' OR 1=1 --"]) {
    await t.throwsAsync(app.verifyTwoFactor(caller, { code: malformed }), { message: 'The code is not valid' });
  }
  await t.throwsAsync(app.verifyTwoFactor(caller, { code: code(1) }), { message: 'The code is not valid' });
  t.like(await t.throwsAsync(app.verifyTwoFactor(caller, { code: '12\u0000456' })), { fields: [{ path: 'code' }] });
});

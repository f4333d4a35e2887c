import { isDomainError } from '@parley/kernel/errors';
import test from 'ava';
import type { TokenPurpose } from '../src/generated/schema.ts';
import { securedTokenStore } from '../src/secured-tokens/secured-token-store.ts';
import { codeSentTo, refusedToken, storedTokens, wrongCode } from './support/codes.ts';
import { type App, anonymous, type IdentityApp, identityApp, newRegistration, signUp } from './support/identity-app.ts';

const newPassword = 'a newly chosen password';

/** Issues codes for a password reset and for a registration. Returns the codes, and the three flows that check a given code. */
async function codesAndFlows({ app, messages }: IdentityApp) {
  const { input } = await signUp(app);
  const newcomer = newRegistration();
  const issue = async (email: string, purpose: TokenPurpose) => ({
    contact: email,
    id: await app.generateOtp(anonymous, { email, purpose }),
    code: await codeSentTo({ messages }, { email }),
  });
  return {
    input,
    codes: { reset: await issue(input.email, 'RESET_PASSWORD'), signUp: await issue(newcomer.email, 'SIGN_UP') },
    flows: {
      validate: (on: App, _: string, token: Presented) => on.validateSecuredToken(anonymous, token),
      reset: (on: App, ip: string, token: Presented) =>
        on.forgotPasswordWithOtp({ ...anonymous, ip }, { newPassword, token }),
      signUp: (on: App, ip: string, token: Presented) => on.register({ ...anonymous, ip }, { input: newcomer, token }),
    },
  };
}

interface Presented {
  token: string;
  id?: number;
  contact?: string;
}

test('rule 8, states: the fifth wrong attempt locks a code, of 100 at once over three flows and 50 addresses; then the right one is refused', async (t) => {
  const identity = await identityApp(t);
  const other = await identity.replica();
  const { codes, flows } = await codesAndFlows(identity);
  const { reset, signUp } = codes;
  const rotation = Object.values(flows);
  const guesses = Array.from({ length: 100 }, (_, n) => {
    const { id, code, contact } = n % 2 ? reset : signUp;
    const by = n % 4 < 2 ? { id } : { contact };
    const flow = rotation[n % rotation.length] ?? flows.validate;
    return flow(n % 5 ? identity.app : other, `198.51.100.${n % 50}`, { ...by, token: wrongCode(code, n) });
  });
  const errors = (await Promise.allSettled(guesses)).map((outcome) => outcome.status === 'rejected' && outcome.reason);
  for (const error of errors) t.like(error, refusedToken);

  const stored = await storedTokens(identity);
  t.deepEqual(
    stored.map(({ wrongAttempts }) => wrongAttempts),
    [5, 5],
  );
  for (const { id, code } of [reset, signUp]) {
    for (const flow of rotation)
      t.like(await t.throwsAsync(flow(other, '192.0.2.9', { id, token: code })), refusedToken);
  }
});

test('after four wrong codes the right one is still valid, and right codes do not count', async (t) => {
  const identity = await identityApp(t);
  const { app } = identity;
  const { codes, flows } = await codesAndFlows(identity);
  const { id, code } = codes.reset;
  for (let n = 0; n < 4; n += 1) {
    const flow = n % 2 ? flows.validate : flows.reset;
    t.like(await t.throwsAsync(flow(app, '192.0.2.1', { id, token: wrongCode(code, n) })), refusedToken);
    t.true(await flows.validate(app, '192.0.2.1', { id, token: code }));
  }
  t.true(await flows.reset(app, '192.0.2.1', { id, token: code }));
});

test('whatever is presented for a code counts as an attempt, but not the token of a link', async (t) => {
  const identity = await identityApp(t);
  const { app } = identity;
  const { codes } = await codesAndFlows(identity);
  const { id, code } = codes.reset;
  for (const token of ['', 'x'.repeat(100_000), `${code}0`, code.slice(1), '<script>']) {
    t.like(await t.throwsAsync(app.validateSecuredToken(anonymous, { id, token })), refusedToken);
  }
  t.like(await t.throwsAsync(app.validateSecuredToken(anonymous, { id, token: code })), refusedToken);
  const { id: signUpId, code: signUpCode } = codes.signUp;
  for (let n = 0; n < 9; n += 1) {
    const token = `pst_${'A'.repeat(43)}`;
    t.like(await t.throwsAsync(app.validateSecuredToken(anonymous, { id: signUpId, token })), refusedToken);
  }
  t.true(await app.validateSecuredToken(anonymous, { id: signUpId, token: signUpCode }));
});

test('states: a code is consumed by the flow of its purpose: of parallel uses of a right one, one succeeds', async (t) => {
  const identity = await identityApp(t);
  const other = await identity.replica();
  const { codes, flows, input } = await codesAndFlows(identity);
  for (const name of ['reset', 'signUp'] as const) {
    const { id, code, contact } = codes[name];
    const uses = Array.from({ length: 12 }, (_, n) =>
      flows[name](n % 2 ? identity.app : other, `198.51.100.${n}`, { ...(n % 3 ? { id } : { contact }), token: code }),
    );
    const outcomes = await Promise.allSettled(uses);
    t.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 1, name);
    for (const outcome of outcomes) if (outcome.status === 'rejected') t.like(outcome.reason, refusedToken);
  }
  await t.notThrowsAsync(identity.app.login(anonymous, { email: input.email, password: newPassword }));
});

test('of parallel registrations with one code that was sent to their phone one succeeds', async (t) => {
  const identity = await identityApp(t);
  const other = await identity.replica();
  const { phoneNumber } = newRegistration();
  const id = await identity.app.generateOtp(anonymous, { phoneNumber: `+44${phoneNumber}`, purpose: 'SIGN_UP' });
  const token = await codeSentTo(identity, { phone: `+44${phoneNumber}` });
  const outcomes = await Promise.allSettled(
    Array.from({ length: 8 }, (_, n) =>
      (n % 2 ? identity.app : other).register(anonymous, {
        input: newRegistration({ phoneNumber }),
        token: { token, id },
      }),
    ),
  );
  t.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
  for (const outcome of outcomes) if (outcome.status === 'rejected') t.true(isDomainError(outcome.reason, 'invalid'));
});

test('guesses at codes that nobody was sent are answered and locked like others', async (t) => {
  const identity = await identityApp(t);
  const { app } = identity;
  const { input } = await signUp(app);
  const nobody = [
    { email: 'nobody@example.test', purpose: 'RESET_PASSWORD' as const },
    { email: input.email, purpose: 'SIGN_UP' as const },
    { email: input.email, purpose: 'INVITATION' as const },
  ];
  for (const request of nobody) {
    const id = await app.generateOtp(anonymous, request);
    for (let n = 0; n < 7; n += 1) {
      t.like(await t.throwsAsync(app.validateSecuredToken(anonymous, { id, token: wrongCode('0', n) })), refusedToken);
    }
  }
  t.deepEqual(
    (await storedTokens(identity)).map(({ wrongAttempts }) => wrongAttempts),
    [5, 5, 0], // a code for an invitation is created expired
  );
});

test('no code is valid for an unknown contact', async (t) => {
  const { app, ports } = await identityApp(t);
  const { hmac } = ports.keys;
  const hashed: [number, string][] = [];
  ports.keys.hmac = (purpose, data) => {
    if (purpose === 'one-time-code') hashed.push(JSON.parse(data));
    return hmac(purpose, data);
  };
  const id = await app.generateOtp(anonymous, { email: 'nobody@example.test', purpose: 'SIGN_IN' });
  const [[hashedId, token] = [0, '']] = hashed;
  t.is(hashedId, id);
  t.regex(token, /^\d{6}$/u);
  t.like(await t.throwsAsync(app.validateSecuredToken(anonymous, { id, token })), refusedToken);
});

test('an attempt at a code that is not there commits a write, as a counted one does, so that it takes as long', async (t) => {
  const { database } = await identityApp(t);
  const writes = await database.transactShared(async (db) => {
    t.is(await securedTokenStore(db).attempt(4711, Buffer.from('hash'), { spends: false }), undefined);
    const { rows } = await db.knex.raw('SELECT pg_current_xact_id_if_assigned() IS NOT NULL AS writes');
    return rows[0].writes;
  });
  t.true(writes);
});

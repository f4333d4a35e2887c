import test from 'ava';
import type { Channel } from '../src/accounts/contact.ts';
import { codeSentTo, messagesTo, refusedToken, tokenSentTo } from './support/codes.ts';
import { anonymous, callerOf, type IdentityApp, identityApp, signUp } from './support/identity-app.ts';

const password = 'correct horse battery';
const newPassword = 'a newly chosen password';
const purpose = 'RESET_PASSWORD';

interface Account {
  email: string;
  phoneNumber: string;
}

/** Returns the password reset code that the user has received. */
async function resetCode(identity: IdentityApp, { email, phoneNumber }: Account, channel: Channel = 'EMAIL') {
  const phone = `+44${phoneNumber}`;
  const id = await identity.app.generateOtp(anonymous, {
    ...(channel === 'EMAIL' ? { email } : { phoneNumber: phone }),
    purpose,
  });
  return { id, token: await codeSentTo(identity, channel === 'EMAIL' ? { email } : { phone }) };
}

/** Returns the token of the password reset link that the user has received. */
async function linkToken(identity: IdentityApp, { email }: Account) {
  await identity.app.resetUserPasswordWithUrl(anonymous, { email, purpose });
  return { token: await tokenSentTo(identity, { email }) };
}

async function storedUser({ database }: IdentityApp, id: number) {
  interface Row {
    emailProvedAt: Date | null;
    emailProofRequired: boolean;
    twoFactorSecretSealed: Buffer | null;
  }
  const [row] = await database.transactShared<Row[]>(({ knex }) => knex('users').where({ id }));
  if (!row) throw new Error('no such user');
  return row;
}

function change({ database }: IdentityApp, id: number, columns: object) {
  return database.transactShared(({ knex }) => knex('users').where({ id }).update(columns));
}

for (const by of ['code', 'link'] as const) {
  test(`rule 10: by a mailed ${by} and without the current password, forgotPasswordWithOTP sets a new one, ends all sign-ins, tells the owner and keeps two-factor`, async (t) => {
    const identity = await identityApp(t);
    const { app, announced } = identity;
    const { input, caller, tokens } = await signUp(app);
    const elsewhere = await app.login(anonymous, { email: input.email, password });
    await change(identity, caller.userId, { two_factor_secret_sealed: Buffer.from('sealed') });
    const token = await (by === 'code' ? resetCode : linkToken)(identity, input);

    t.true(await app.forgotPasswordWithOtp(anonymous, { newPassword, token }));

    t.deepEqual(announced.at(-1), { $case: 'userId', value: caller.userId });
    for (const ended of [tokens, elsewhere]) {
      t.like(await t.throwsAsync(app.refreshSignIn(anonymous, ended)), { kind: 'unauthenticated' });
    }
    t.like(await t.throwsAsync(app.login(anonymous, { email: input.email, password })), { kind: 'unauthenticated' });
    const { signInId } = await callerOf(app, await app.login(anonymous, { email: input.email, password: newPassword }));
    t.is((await app.resolveSignIn(signInId)).limitedReason, 'TWO_FACTOR_REQUIRED');
    const told = (await messagesTo(identity, { email: input.email })).map(({ subject }) => subject);
    t.deepEqual(told.slice(1), ['Parley: your password was changed']);

    t.like(await t.throwsAsync(app.forgotPasswordWithOtp(anonymous, { newPassword, token })), refusedToken);
  });
}

test('a link begins with RESET_URL, is good for an hour, and its message names product, purpose and expiry', async (t) => {
  const resetUrl = 'https://app.example/account?step=password';
  const identity = await identityApp(t, { resetUrl });
  const { app, advance } = identity;
  const { input } = await signUp(app);
  t.true(await app.resetUserPasswordWithUrl(anonymous, { email: ` ${input.email.toUpperCase()}`, purpose }));
  const [message] = await messagesTo(identity, { email: input.email });
  const token = await tokenSentTo(identity, { email: input.email });
  t.is(message?.subject, 'Parley: your link to set a new password');
  t.true(message?.text.includes(`\n\n${resetUrl}&token=${token}\n\nIt works once and expires in 60 minutes, at `));
  t.true(message?.html.includes(`href="https://app.example/account?step=password&#38;token=${token}"`));

  advance(59 * 60_000);
  t.true(await app.validateSecuredToken(anonymous, { token }));
  t.true(await app.validateSecuredToken(anonymous, { token, contact: input.email }));
  const impossible = { contact: 'other@example.test' };
  t.like(await t.throwsAsync(app.validateSecuredToken(anonymous, { token, ...impossible })), refusedToken);
  t.like(await t.throwsAsync(app.validateSecuredToken(anonymous, { token, id: 7 })), refusedToken);
  t.like(await t.throwsAsync(app.validateSecuredToken(anonymous, { token: `${token}A` })), refusedToken);
  advance(2 * 60_000);
  t.like(await t.throwsAsync(app.forgotPasswordWithOtp(anonymous, { newPassword, token: { token } })), refusedToken);
});

test('without RESET_URL a link begins with the public URL', async (t) => {
  const identity = await identityApp(t, { publicUrl: 'https://parley.test' });
  const { input } = await signUp(identity.app);
  await identity.app.resetUserPasswordWithUrl(anonymous, { email: input.email, purpose });
  const [message] = await messagesTo(identity, { email: input.email });
  t.regex(message?.text ?? '', /\nhttps:\/\/parley\.test\/reset-password\?token=pst_/u);
});

test('rule 10, errors: forgotPasswordWithOTP rejects a code of any other purpose, and leaves it good', async (t) => {
  const identity = await identityApp(t);
  const { app } = identity;
  const { email } = (await signUp(app)).input;
  const codes = [
    { email, purpose: 'SIGN_IN' },
    { email, purpose: 'UPDATE_PROFILE' },
    { email: 'newcomer@example.test', purpose: 'SIGN_UP' },
  ] as const;
  for (const asked of codes) {
    const id = await app.generateOtp(anonymous, asked);
    const token = { id, token: await codeSentTo(identity, { email: asked.email }) };
    t.like(await t.throwsAsync(app.forgotPasswordWithOtp(anonymous, { newPassword, token })), refusedToken);
    t.true(await app.validateSecuredToken(anonymous, token));
  }
  await t.notThrowsAsync(app.login(anonymous, { email, password }));
});

test('rule 9: resetUserPasswordWithUrl is always true, also without email, and mails a link for RESET_PASSWORD alone, to users alone', async (t) => {
  const identity = await identityApp(t);
  const { app } = identity;
  const { email } = (await signUp(app)).input;
  for (const other of ['SIGN_IN', 'SIGN_UP', 'INVITATION', 'UPDATE_PROFILE'] as const) {
    t.true(await app.resetUserPasswordWithUrl(anonymous, { email, purpose: other }));
  }
  for (const nobody of ['nobody@example.test', 'no address', '', null, undefined]) {
    t.true(await app.resetUserPasswordWithUrl(anonymous, { email: nobody, purpose }));
  }
  t.true(await app.resetUserPasswordWithUrl(anonymous, { purpose }));
  t.deepEqual(await identity.messages(), []);
});

test('a new link replaces the older one, and ten a day are sent to an email', async (t) => {
  const identity = await identityApp(t);
  const { app, advance } = identity;
  const { input } = await signUp(app);
  const first = await linkToken(identity, input);
  const code = await resetCode(identity, input);
  for (let n = 0; n < 12; n += 1)
    t.true(await app.resetUserPasswordWithUrl(anonymous, { email: input.email, purpose }));
  const links = (await messagesTo(identity, { email: input.email })).filter(({ text }) => text.includes('pst_'));
  t.is(links.length, 10);
  const last = await tokenSentTo(identity, { email: input.email });
  t.like(await t.throwsAsync(app.validateSecuredToken(anonymous, first)), refusedToken);
  t.true(await app.validateSecuredToken(anonymous, { token: last }));
  t.true(await app.validateSecuredToken(anonymous, code), 'a code is not replaced by a link');
  advance(24 * 60 * 60_000);
  t.not((await linkToken(identity, input)).token, last);
});

test('what was sent to the email proves it, and ends EMAIL_PROOF_REQUIRED; what was sent to the phone does not', async (t) => {
  const identity = await identityApp(t);
  const { app } = identity;
  const { input, caller } = await signUp(app);
  const { email } = input;
  const limited = { email_proof_required: true, two_factor_secret_sealed: Buffer.from('sealed') };
  const reasonOf = async (given: string) => {
    const { signInId } = await callerOf(app, await app.login(anonymous, { email, password: given }));
    return (await app.resolveSignIn(signInId)).limitedReason;
  };
  await change(identity, caller.userId, limited);
  t.is(await reasonOf(password), 'EMAIL_PROOF_REQUIRED', 'before TWO_FACTOR_REQUIRED');

  const byPhone = await resetCode(identity, input, 'PHONE');
  await app.forgotPasswordWithOtp(anonymous, { newPassword, token: byPhone });
  t.like(await storedUser(identity, caller.userId), { emailProvedAt: null, emailProofRequired: true });
  t.is(await reasonOf(newPassword), 'EMAIL_PROOF_REQUIRED');

  for (const make of [resetCode, linkToken]) {
    await change(identity, caller.userId, { ...limited, email_proved_at: null });
    const token = await make(identity, input);
    t.true(await app.validateSecuredToken(anonymous, token));
    t.is((await storedUser(identity, caller.userId)).emailProvedAt, null, 'it was not used yet');
    await app.forgotPasswordWithOtp(anonymous, { newPassword, token });
    const { emailProvedAt, emailProofRequired } = await storedUser(identity, caller.userId);
    t.true(emailProvedAt instanceof Date);
    t.false(emailProofRequired);
    t.is(await reasonOf(newPassword), 'TWO_FACTOR_REQUIRED');
  }
});

test('a sign-in is limited as the account is when it begins, not as it was when the password was checked', async (t) => {
  const identity = await identityApp(t);
  const { app, ports } = identity;
  const { input, caller } = await signUp(app);
  const { verify } = ports.passwords;
  ports.passwords.verify = async (...given) => {
    const matches = await verify(...given);
    await change(identity, caller.userId, { email_proof_required: true });
    return matches;
  };
  const { signInId } = await callerOf(app, await app.login(anonymous, { email: input.email, password }));
  t.is((await app.resolveSignIn(signInId)).limitedReason, 'EMAIL_PROOF_REQUIRED');
});

test('a new password ends all other codes and links for a new password', async (t) => {
  const identity = await identityApp(t);
  const { app } = identity;
  const { input } = await signUp(app);
  const others = [await resetCode(identity, input, 'PHONE'), await linkToken(identity, input)];
  await app.generateOtp(anonymous, { email: input.email, purpose: 'SIGN_IN' });
  const signIn = { token: await codeSentTo(identity, { email: input.email }), contact: input.email };
  const token = await resetCode(identity, input);
  await app.forgotPasswordWithOtp(anonymous, { newPassword, token });
  for (const other of others) {
    t.like(await t.throwsAsync(app.forgotPasswordWithOtp(anonymous, { newPassword, token: other })), refusedToken);
  }
  t.true(await app.validateSecuredToken(anonymous, signIn));
});

test('a refused password uses up no code', async (t) => {
  const identity = await identityApp(t);
  const { app } = identity;
  const { input, tokens } = await signUp(app);
  const token = await resetCode(identity, input);
  for (const refused of ['short', 'password', ` ${input.email.toUpperCase()}`, 'x'.repeat(129), 'nul\0nul\0nul']) {
    t.like(await t.throwsAsync(app.forgotPasswordWithOtp(anonymous, { newPassword: refused, token })), {
      kind: 'invalid',
      fields: [{ path: 'input.newPassword' }],
    });
  }
  await t.notThrowsAsync(app.refreshSignIn(anonymous, tokens));
  t.true(await app.forgotPasswordWithOtp(anonymous, { newPassword, token }));
});

test('only a right code reveals that the new password is the email', async (t) => {
  const identity = await identityApp(t);
  const { app } = identity;
  const { input } = await signUp(app);
  const { id } = await resetCode(identity, input);
  const guess = { newPassword: input.email, token: { id, token: 'wrong' } };
  t.like(await t.throwsAsync(app.forgotPasswordWithOtp(anonymous, guess)), refusedToken);
});

test('a suspended user is told so only with a right code, which is not used up; a deleted one has none', async (t) => {
  const identity = await identityApp(t);
  const { app } = identity;
  const { input, caller } = await signUp(app);
  const token = await resetCode(identity, input);
  const reset = (given = token) => app.forgotPasswordWithOtp(anonymous, { newPassword, token: given });
  await change(identity, caller.userId, { status: 'SUSPENDED' });
  t.like(await t.throwsAsync(reset({ ...token, token: 'wrong' })), refusedToken);
  t.like(await t.throwsAsync(reset()), { kind: 'forbidden', reason: 'USER_SUSPENDED' });
  await change(identity, caller.userId, { status: 'ACTIVE', deleted_at: new Date() });
  t.like(await t.throwsAsync(reset()), refusedToken);
  await signUp(app, { email: input.email, phoneNumber: input.phoneNumber });
  t.like(await t.throwsAsync(reset()), refusedToken, 'that of the account before');
  await t.notThrowsAsync(app.login(anonymous, { email: input.email, password }));
});

test('a code is used up with its effect or not at all', async (t) => {
  const identity = await identityApp(t);
  const { app, ports } = identity;
  const { input, tokens } = await signUp(app);
  const token = await resetCode(identity, input);
  const { seal } = ports.box;
  // The last step of the transaction encrypts a message, so this error undoes the whole transaction.
  ports.box.seal = () => {
    throw new Error('interrupted');
  };
  await t.throwsAsync(app.forgotPasswordWithOtp(anonymous, { newPassword, token }), { message: 'interrupted' });
  ports.box.seal = seal;
  await t.notThrowsAsync(app.login(anonymous, { email: input.email, password }));
  await t.notThrowsAsync(app.refreshSignIn(anonymous, tokens));
  t.true(await app.forgotPasswordWithOtp(anonymous, { newPassword, token }));
});

import test from 'ava';
import { issueInvitation } from '../src/accounts/issue-invitation.ts';
import type { RegisterInput } from '../src/generated/schema.ts';
import type { Contact } from '../src/messages/message.ts';
import { codeSentTo, messagesTo, refusedToken, storedTokens, tokenSentTo, wrongCode } from './support/codes.ts';
import { anonymous, callerOf, type IdentityApp, identityApp, newRegistration, signUp } from './support/identity-app.ts';

async function signUpCode(identity: IdentityApp, { email }: { email: string }) {
  const id = await identity.app.generateOtp(anonymous, { email, purpose: 'SIGN_UP' });
  return { id, token: await codeSentTo(identity, { email }) };
}

async function signUpSms(identity: IdentityApp, { phoneNumber }: RegisterInput) {
  const phone = `+44${phoneNumber}`;
  const id = await identity.app.generateOtp(anonymous, { phoneNumber: phone, purpose: 'SIGN_UP' });
  return { id, token: await codeSentTo(identity, { phone }) };
}

/** Sends an invitation as an operator does. */
async function invitation(identity: IdentityApp, contact: Contact) {
  await identity.database.transactShared((db) => issueInvitation(identity.ports, db, contact));
  return { token: await tokenSentTo(identity, contact) };
}

async function emailProvedAt({ app, database }: IdentityApp, registered: ReturnType<typeof app.register>) {
  const { userId } = await callerOf(app, await registered);
  const [row] = await database.transactShared(({ knex }) => knex('users').where({ id: userId }));
  return row.emailProvedAt as Date | null;
}

test('under otp, register takes a SIGN_UP code once that was sent to its email or phone, and nothing else', async (t) => {
  const identity = await identityApp(t, { registration: 'otp' });
  const { app } = identity;
  const [first, second, third] = [newRegistration(), newRegistration(), newRegistration()];
  const code = await signUpCode(identity, first);
  const register = (input: RegisterInput, token: { token: string } | null) => app.register(anonymous, { input, token });

  t.like(await t.throwsAsync(register(first, null)), refusedToken);
  t.like(await t.throwsAsync(register(first, await invitation(identity, { email: first.email }))), refusedToken);
  for (const given of [code, { ...code, contact: first.email }, { token: code.token, contact: first.email }]) {
    t.like(await t.throwsAsync(register(second, given)), refusedToken, 'that of another contact');
  }
  const { id } = code;
  t.like(await t.throwsAsync(register(first, { ...code, token: wrongCode(code.token) })), refusedToken);
  await t.notThrowsAsync(register(first, code));
  t.like(await t.throwsAsync(register({ ...second, email: first.email }, code)), refusedToken);
  t.like(
    (await storedTokens(identity)).find((stored) => stored.id === id),
    { wrongAttempts: 1 },
  );

  await t.notThrowsAsync(register(second, await signUpSms(identity, second)));
  const byContact = { token: (await signUpCode(identity, third)).token, contact: ` ${third.email.toUpperCase()}` };
  await t.notThrowsAsync(register(third, byContact));
  t.deepEqual(await app.isRegisterable({ email: 'new@example.test' }), { registerable: false, reasons: ['CLOSED'] });
});

test('the contact of a code may be the number in any spelling that registers', async (t) => {
  const identity = await identityApp(t, { registration: 'otp' });
  const spellings = [
    (n: string) => `0${n}`,
    (n: string) => `+44 ${n}`,
    (n: string) => `${n.slice(0, 4)} ${n.slice(4)}`,
  ];
  for (const spelled of spellings) {
    const input = newRegistration();
    const { token } = await signUpSms(identity, input);
    const contact = spelled(input.phoneNumber);
    await t.notThrowsAsync(identity.app.register(anonymous, { input, token: { token, contact } }), contact);
  }
});

test('under invite, register takes an invitation of the operator once, for the invited contact', async (t) => {
  const identity = await identityApp(t, { registration: 'invite' });
  const { app, advance } = identity;
  const [first, second] = [newRegistration(), newRegistration()];
  const register = (input: RegisterInput, token: { token: string } | null) => app.register(anonymous, { input, token });
  const replaced = await invitation(identity, { email: first.email });
  const invited = await invitation(identity, { email: first.email });
  const [message] = await messagesTo(identity, { email: first.email });
  t.regex(
    message?.text ?? '',
    /^Parley: You are invited to create your account\..*\n\npst_[^\n]+\n\nIt works once and expires in 60 /u,
  );

  t.like(await t.throwsAsync(register(first, null)), refusedToken);
  t.like(await t.throwsAsync(register(first, await signUpCode(identity, first))), refusedToken);
  t.like(await t.throwsAsync(register(first, replaced)), refusedToken);
  t.like(await t.throwsAsync(register(second, invited)), refusedToken);
  advance(59 * 60_000);
  await t.notThrowsAsync(register(first, invited));
  t.like(await t.throwsAsync(register({ ...second, email: first.email }, invited)), refusedToken);
  const byPhone = await invitation(identity, { phone: `+44${second.phoneNumber}` });
  advance(61 * 60_000);
  t.like(await t.throwsAsync(register(second, byPhone)), refusedToken, 'it has expired');
});

test('the operator may invite a contact any number of times', async (t) => {
  const identity = await identityApp(t, { registration: 'invite' });
  const input = newRegistration();
  for (let n = 0; n < 12; n += 1) await invitation(identity, { email: input.email });
  const last = await invitation(identity, { email: input.email });
  t.is((await messagesTo(identity, { email: input.email })).length, 13);
  await t.notThrowsAsync(identity.app.register(anonymous, { input, token: last }));
});

test('in open mode register needs no token, and checks and uses up one that is given', async (t) => {
  const identity = await identityApp(t);
  const { app } = identity;
  const input = newRegistration();
  const code = await signUpCode(identity, input);
  t.like(
    await t.throwsAsync(app.register(anonymous, { input, token: { ...code, token: wrongCode(code.token) } })),
    refusedToken,
  );
  t.like(await t.throwsAsync(app.register(anonymous, { input, token: { token: code.token } })), refusedToken);
  await t.notThrowsAsync(app.register(anonymous, { input, token: code }));
  t.like(await t.throwsAsync(app.validateSecuredToken(anonymous, code)), refusedToken);
  const invited = newRegistration();
  await t.notThrowsAsync(
    app.register(anonymous, {
      input: invited,
      token: await invitation(identity, { phone: `+44${invited.phoneNumber}` }),
    }),
  );
});

test('an invitation that a stranger asks for does not stand before the code of a newcomer', async (t) => {
  const identity = await identityApp(t);
  const { app } = identity;
  const input = newRegistration();
  const { token } = await signUpCode(identity, input);
  await app.generateOtp(anonymous, { email: input.email, purpose: 'INVITATION' });
  const given = { token, contact: input.email };
  t.true(await app.validateSecuredToken(anonymous, given));
  await t.notThrowsAsync(app.register(anonymous, { input, token: given }));
});

test('the contact of a code may be the national number as the registration gives it', async (t) => {
  const identity = await identityApp(t, { registration: 'otp' });
  const { app } = identity;
  const input = newRegistration();
  const phone = `${input.phoneCode}${input.phoneNumber}`;
  const id = await app.generateOtp(anonymous, { phoneNumber: phone, purpose: 'SIGN_UP' });
  const token = await codeSentTo(identity, { phone });
  const other = newRegistration();
  t.like(
    await t.throwsAsync(app.register(anonymous, { input: other, token: { id, token, contact: other.phoneNumber } })),
    refusedToken,
  );
  await t.notThrowsAsync(app.register(anonymous, { input, token: { id, token, contact: ` ${input.phoneNumber} ` } }));
});

test('rule 8, errors: codes of other purposes do not register', async (t) => {
  const identity = await identityApp(t);
  const { app } = identity;
  const { input } = await signUp(app);
  for (const purpose of ['SIGN_IN', 'RESET_PASSWORD', 'UPDATE_PROFILE'] as const) {
    const id = await app.generateOtp(anonymous, { email: input.email, purpose });
    const token = { id, token: await codeSentTo(identity, { email: input.email }) };
    const again = newRegistration({ email: input.email });
    t.like(await t.throwsAsync(app.register(anonymous, { input: again, token })), refusedToken);
    t.true(await app.validateSecuredToken(anonymous, token));
  }
});

test('a refused registration uses up no code', async (t) => {
  const identity = await identityApp(t);
  const { app } = identity;
  const { input: taken } = await signUp(app);
  const input = newRegistration();
  const code = await signUpCode(identity, input);
  const register = (overrides: object) => app.register(anonymous, { input: { ...input, ...overrides }, token: code });
  t.like(await t.throwsAsync(register({ password: 'short' })), { kind: 'invalid' });
  t.like(await t.throwsAsync(register({ referralCode: '22222222' })), { kind: 'invalid' });
  t.like(await t.throwsAsync(register({ phoneNumber: taken.phoneNumber })), { kind: 'conflict' });
  await t.notThrowsAsync(register({}));
});

test('a code or invitation that was sent to the email proves it; one that was sent to the phone does not', async (t) => {
  const identity = await identityApp(t);
  const { app } = identity;
  const [none, mailed, sms, invited] = [newRegistration(), newRegistration(), newRegistration(), newRegistration()];
  t.is(await emailProvedAt(identity, app.register(anonymous, { input: none })), null);
  t.is(
    await emailProvedAt(identity, app.register(anonymous, { input: sms, token: await signUpSms(identity, sms) })),
    null,
  );
  for (const [input, token] of [
    [mailed, await signUpCode(identity, mailed)],
    [invited, await invitation(identity, { email: invited.email })],
  ] as const) {
    t.true((await emailProvedAt(identity, app.register(anonymous, { input, token }))) instanceof Date);
  }
});

test('a token of text that cannot be stored is refused with its path', async (t) => {
  const { app } = await identityApp(t);
  const error = await t.throwsAsync(
    app.register(anonymous, { input: newRegistration(), token: { token: 'a\0b', contact: '\ud800' } }),
  );
  t.like(error, { kind: 'invalid', fields: [{ path: 'token.token' }, { path: 'token.contact' }] });
});

import test from 'ava';
import type { TokenPurpose } from '../src/generated/schema.ts';
import { secretHash } from '../src/secured-tokens/secured-token.ts';
import { securedTokenStore } from '../src/secured-tokens/secured-token-store.ts';
import { codeSentTo, messagesTo, refusedToken, storedTokens, wrongCode } from './support/codes.ts';
import { anonymous, identityApp, newRegistration, signUp } from './support/identity-app.ts';

const newPassword = 'a newly chosen password';
const sentTo = ({ phoneNumber = '' }) => ({ phone: `+44${phoneNumber}` });

test('a code is six digits by mail or SMS, in a message that names product, purpose and expiry', async (t) => {
  const identity = await identityApp(t);
  const { app, advance, ports } = identity;
  const { input } = await signUp(app);
  advance(0);
  await app.generateOtp(anonymous, { email: ` ${input.email.toUpperCase()} `, purpose: 'RESET_PASSWORD' });
  await app.generateOtp(anonymous, { phoneNumber: `+44 ${input.phoneNumber}`, purpose: 'SIGN_IN' });

  const [mail] = await messagesTo(identity, { email: input.email });
  const [sms] = await messagesTo(identity, sentTo(input));
  const until = ports.clock().getTime() + 10 * 60_000;
  t.is(mail?.subject, 'Parley: your code to set a new password');
  t.regex(
    mail?.text ?? '',
    /^Parley: Use this code to set a new password:\n\n\d{6}\n\nIt works once and expires in 10 /u,
  );
  t.true(
    [0, 1].some((n) => mail?.text.includes(`at ${new Date(until - n * 60_000).toISOString().slice(11, 16)} UTC.`)),
  );
  t.regex(mail?.html ?? '', />\d{6}<\/p>/u);
  t.regex(sms?.text ?? '', /^Parley: Use this code to sign in:\n\n\d{6}\n\n/u);
  t.false(JSON.stringify([mail, sms]).includes(input.fullname));
});

test('SIGN_UP codes go to contacts that nobody has, the others to those of users, and an id is answered always', async (t) => {
  const identity = await identityApp(t);
  const { app } = identity;
  const { input } = await signUp(app);
  const stranger = newRegistration();
  const purposes: TokenPurpose[] = ['SIGN_IN', 'SIGN_UP', 'RESET_PASSWORD', 'UPDATE_PROFILE', 'INVITATION'];
  const unreachable = [{ email: 'nobody' }, { phoneNumber: '12' }, { phoneNumber: '7911000000' }, { email: '' }];
  const ids: number[] = [];
  for (const purpose of purposes) {
    for (const { email, phoneNumber } of [input, stranger]) {
      ids.push(await app.generateOtp(anonymous, { email, purpose }));
      ids.push(await app.generateOtp(anonymous, { phoneNumber: `+44${phoneNumber}`, purpose }));
    }
    for (const name of unreachable) ids.push(await app.generateOtp(anonymous, { ...name, purpose }));
  }

  const subjects = async (contact: Parameters<typeof messagesTo>[1]) =>
    (await messagesTo(identity, contact)).map(({ subject }) => subject.replace('Parley: your code to ', ''));
  const ofUsers = ['sign in', 'set a new password', 'change your profile'];
  t.deepEqual(await subjects({ email: input.email }), ofUsers);
  t.deepEqual(await subjects(sentTo(input)), ofUsers);
  t.deepEqual(await subjects({ email: stranger.email }), ['create your account']);
  t.deepEqual(await subjects(sentTo(stranger)), ['create your account']);
  t.is((await identity.messages()).length, 8);
  t.is(new Set(ids).size, ids.length);
  for (const id of ids) t.true(Number.isInteger(id) && id > 0 && id < 2 ** 31);
  t.notDeepEqual(
    ids,
    ids.toSorted((a, b) => a - b),
  );
});

test('a national number names the one user who has it', async (t) => {
  const identity = await identityApp(t);
  const { app } = identity;
  const { input } = await signUp(app);
  const phoneNumber = `0${input.phoneNumber}`;
  await app.generateOtp(anonymous, { phoneNumber, purpose: 'RESET_PASSWORD' });
  const token = await codeSentTo(identity, sentTo(input));
  t.true(await app.validateSecuredToken(anonymous, { token, contact: phoneNumber }));
  t.true(await app.validateSecuredToken(anonymous, { token, contact: `+44 ${input.phoneNumber}` }));

  await signUp(app, { phoneCode: '+47', phoneNumber: '91234567' });
  await signUp(app, { phoneCode: '+65', phoneNumber: '91234567' });
  await app.generateOtp(anonymous, { phoneNumber: '91234567', purpose: 'RESET_PASSWORD' });
  t.is((await identity.messages()).length, 1);
});

test('validateSecuredToken returns true for a right code each time, and does not use it up', async (t) => {
  const identity = await identityApp(t);
  const { app } = identity;
  const { input } = await signUp(app);
  const id = await app.generateOtp(anonymous, { email: input.email, purpose: 'RESET_PASSWORD' });
  const token = await codeSentTo(identity, { email: input.email });
  for (let n = 0; n < 7; n += 1) t.true(await app.validateSecuredToken(anonymous, { token, id }));
  const wide = token.replace(/\d/gu, (digit) => String.fromCodePoint(0xff10 + Number(digit)));
  t.true(await app.validateSecuredToken(anonymous, { token: ` ${wide}\n`, contact: input.email }));
  t.true(await app.forgotPasswordWithOtp(anonymous, { newPassword, token: { token, id } }));
  t.like(await t.throwsAsync(app.validateSecuredToken(anonymous, { token, id })), refusedToken);
});

test('a code is valid for ten minutes', async (t) => {
  const identity = await identityApp(t);
  const { app, advance } = identity;
  const { input } = await signUp(app);
  const id = await app.generateOtp(anonymous, { email: input.email, purpose: 'SIGN_IN' });
  const token = await codeSentTo(identity, { email: input.email });
  advance(9.9 * 60_000);
  t.true(await app.validateSecuredToken(anonymous, { token, id }));
  advance(0.2 * 60_000);
  t.like(await t.throwsAsync(app.validateSecuredToken(anonymous, { token, id })), refusedToken);
});

test('rule 8: a new code can be requested, and replaces the older one of its contact and purpose, and none of another', async (t) => {
  const identity = await identityApp(t);
  const { app } = identity;
  const { input } = await signUp(app);
  const issue = async (purpose: TokenPurpose, contact: { email: string } | { phoneNumber: string }) => {
    const id = await app.generateOtp(anonymous, { ...contact, purpose });
    return { id, token: await codeSentTo(identity, 'email' in contact ? contact : sentTo(input)) };
  };
  const { email, phoneNumber } = input;
  const others = [
    await issue('SIGN_IN', { email }),
    await issue('RESET_PASSWORD', { phoneNumber: `+44${phoneNumber}` }),
  ];
  const older = await issue('RESET_PASSWORD', { email });
  const newer = await issue('RESET_PASSWORD', { email });

  t.like(await t.throwsAsync(app.validateSecuredToken(anonymous, older)), refusedToken);
  for (const code of [newer, ...others]) t.true(await app.validateSecuredToken(anonymous, code));
});

test('rule 8: a code is accepted by the flow of its purpose only; the id selects it, else it is the newest of the contact', async (t) => {
  const identity = await identityApp(t);
  const { app, advance } = identity;
  const { input } = await signUp(app);
  const { email } = input;
  const reset = {
    id: await app.generateOtp(anonymous, { email, purpose: 'RESET_PASSWORD' }),
    token: await codeSentTo(identity, { email }),
  };
  advance(1_000);
  const signIn = {
    id: await app.generateOtp(anonymous, { email, purpose: 'SIGN_IN' }),
    token: await codeSentTo(identity, { email }),
  };

  t.true(await app.validateSecuredToken(anonymous, reset));
  t.true(await app.validateSecuredToken(anonymous, { token: signIn.token, contact: email }));
  t.like(
    await t.throwsAsync(app.validateSecuredToken(anonymous, { token: reset.token, contact: email })),
    refusedToken,
  );
  t.like(await t.throwsAsync(app.forgotPasswordWithOtp(anonymous, { newPassword, token: signIn })), refusedToken);
  t.true(await app.forgotPasswordWithOtp(anonymous, { newPassword, token: { token: reset.token, contact: email } }));
});

test('id and contact must belong together, and one of them selects a code', async (t) => {
  const identity = await identityApp(t);
  const { app } = identity;
  const [ada, eve] = [(await signUp(app)).input, (await signUp(app)).input];
  const issue = async (email: string) => ({
    id: await app.generateOtp(anonymous, { email, purpose: 'SIGN_IN' }),
    token: await codeSentTo(identity, { email }),
  });
  const [ofAda, ofEve] = [await issue(ada.email), await issue(eve.email)];

  t.true(await app.validateSecuredToken(anonymous, { ...ofAda, contact: ` ${ada.email.toUpperCase()}` }));
  const impossible = [
    { ...ofAda, contact: eve.email },
    { ...ofAda, contact: '' },
    { token: ofAda.token, id: ofEve.id },
    { token: ofAda.token, contact: eve.email },
    { token: ofAda.token },
    ...[0, -1, 1.5, 2 ** 31, 1e300, ofAda.id + 0.5].map((id) => ({ token: ofAda.token, id })),
  ];
  for (const given of impossible) {
    t.like(
      await t.throwsAsync(app.validateSecuredToken(anonymous, given), undefined, JSON.stringify(given)),
      refusedToken,
    );
  }
  t.true(
    await app.validateSecuredToken(anonymous, ofAda),
    'that of a contact counts no attempt at the code of another',
  );
});

test('ten codes a day of a contact and purpose are sent; beyond them an id is answered all the same', async (t) => {
  const identity = await identityApp(t);
  const { app, advance } = identity;
  const { email } = (await signUp(app)).input;
  for (let n = 0; n < 10; n += 1) await app.generateOtp(anonymous, { email, purpose: 'SIGN_IN' });
  const token = await codeSentTo(identity, { email });
  for (let n = 0; n < 3; n += 1) {
    const id = await app.generateOtp(anonymous, { email, purpose: 'SIGN_IN' });
    t.true(id > 0);
    t.like(await t.throwsAsync(app.validateSecuredToken(anonymous, { token, id })), refusedToken);
  }
  t.is((await messagesTo(identity, { email })).length, 10);
  t.true(
    await app.validateSecuredToken(anonymous, { token, contact: email }),
    'the tenth is not replaced by what is not sent',
  );
  await app.generateOtp(anonymous, { email, purpose: 'UPDATE_PROFILE' });
  t.is((await messagesTo(identity, { email })).length, 11);
  advance(24 * 60 * 60_000);
  await app.generateOtp(anonymous, { email, purpose: 'SIGN_IN' });
  t.is((await messagesTo(identity, { email })).length, 12);
});

test('thirty wrong codes a day of a contact and purpose are taken; then no code is sent until the next day', async (t) => {
  const identity = await identityApp(t);
  const { app, advance } = identity;
  const { email } = (await signUp(app)).input;
  const failSome = async (attempts: number) => {
    const id = await app.generateOtp(anonymous, { email, purpose: 'SIGN_IN' });
    const code = await codeSentTo(identity, { email });
    for (let n = 0; n < attempts; n += 1) {
      const wrong = { id, token: wrongCode(code, n) };
      t.like(await t.throwsAsync(app.validateSecuredToken(anonymous, wrong)), refusedToken);
    }
    return { id, token: code };
  };
  for (let n = 0; n < 5; n += 1) await failSome(5);
  t.true(await app.validateSecuredToken(anonymous, await failSome(3)));
  t.like(await t.throwsAsync(app.validateSecuredToken(anonymous, await failSome(2))), refusedToken, 'the thirtieth');
  const sent = (await messagesTo(identity, { email })).length;
  await app.generateOtp(anonymous, { email, purpose: 'SIGN_IN' });
  t.is((await messagesTo(identity, { email })).length, sent);
  await app.generateOtp(anonymous, { email, purpose: 'RESET_PASSWORD' });
  t.is((await messagesTo(identity, { email })).length, sent + 1);

  advance(24 * 60 * 60_000);
  t.true(await app.validateSecuredToken(anonymous, await failSome(4)));
});

test('of codes that are asked for at once one is live, and no more than ten are sent', async (t) => {
  const identity = await identityApp(t);
  const { app, replica } = identity;
  const other = await replica();
  const { email } = (await signUp(app)).input;
  await Promise.all(
    Array.from({ length: 24 }, (_, n) => (n % 2 ? app : other).generateOtp(anonymous, { email, purpose: 'SIGN_IN' })),
  );
  t.is((await messagesTo(identity, { email })).length, 10);
  t.is((await storedTokens(identity)).filter(({ endedAt }) => endedAt === null).length, 1);
});

test('codes and contacts are stored as HMAC, equal codes differently, and they are deleted after a day', async (t) => {
  const identity = await identityApp(t);
  const { app, advance, database, ports } = identity;
  const emails = Array.from({ length: 12 }, (_, n) => `canary-${n}@example.test`);
  for (const email of emails) await app.generateOtp(anonymous, { email, purpose: 'SIGN_UP' });
  const codes = await Promise.all(emails.map((email) => codeSentTo(identity, { email })));
  const rows = await database.transactShared(({ knex }) => knex('secured_tokens').select('secretHash', 'contactIndex'));
  const values = rows.flatMap(({ secretHash, contactIndex }) => [secretHash, contactIndex] as Buffer[]);
  for (const value of values) t.is(value.length, 32);
  t.is(new Set(values.map((value) => value.toString('hex'))).size, 24);
  const hashOf = (id: number) => secretHash(ports.keys, { type: 'TIMED_OTP', id, secret: '123456' });
  t.notDeepEqual(await hashOf(1), await hashOf(2));
  const jobs = await database.transactShared(({ knex }) => knex('jobs'));
  const text = JSON.stringify([rows, jobs].flat());
  for (const canary of ['canary', ...codes.map((code) => `"${code}"`)]) t.false(text.includes(canary));

  advance(25 * 60 * 60_000);
  for (let n = 0; n < 2; n += 1) await app.generateOtp(anonymous, { email: 'later@example.test', purpose: 'SIGN_UP' });
  t.is((await storedTokens(identity)).length, 2);
});

test('every code has its own id', async (t) => {
  const { database } = await identityApp(t);
  const insert = (contact: string) =>
    database.transactShared((db) =>
      securedTokenStore(db).insert({
        id: 4711,
        type: 'TIMED_OTP',
        purpose: 'SIGN_UP',
        contactIndex: Buffer.from(contact),
        channel: 'EMAIL',
        userId: null,
        secretHash: Buffer.from(contact),
        guesses: 5,
        validForS: 600,
      }),
    );
  t.true(await insert('one'));
  t.false(await insert('another'));
});

test('exactly one contact is named, by text that can be stored', async (t) => {
  const { app } = await identityApp(t);
  const both = { email: 'a@example.test', phoneNumber: '+447911123456' };
  for (const name of [{}, { email: null, phoneNumber: null }, both]) {
    t.like(await t.throwsAsync(app.generateOtp(anonymous, { ...name, purpose: 'SIGN_UP' })), {
      kind: 'invalid',
      fields: [{ path: 'input.email', message: 'or input.phoneNumber must be given, and not both' }],
    });
  }
  for (const text of ['a\0@example.test', '\ud800']) {
    const invalid = { kind: 'invalid', reason: undefined };
    t.like(await t.throwsAsync(app.generateOtp(anonymous, { email: text, purpose: 'SIGN_UP' })), invalid);
    t.like(
      await t.throwsAsync(app.resetUserPasswordWithUrl(anonymous, { email: text, purpose: 'RESET_PASSWORD' })),
      invalid,
    );
    t.like(await t.throwsAsync(app.validateSecuredToken(anonymous, { token: text, id: 1 })), invalid);
    t.like(await t.throwsAsync(app.validateSecuredToken(anonymous, { token: '123456', contact: text })), invalid);
  }
});

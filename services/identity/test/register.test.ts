import { DomainError } from '@parley/kernel/errors';
import test from 'ava';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { anonymous, callerOf, identityApp, newRegistration, signUp } from './support/identity-app.ts';

test('rule 1, states: register signs in at once, and myTenant is the workspace made for the account, with avatar defaults', async (t) => {
  const { app } = await identityApp(t);
  const input = newRegistration({ fullname: 'Ada Lovelace' });
  const tokens = await app.register(anonymous, { input });
  const caller = await callerOf(app, tokens);

  t.like(tokens, { expiresIn: 900, refreshExpiresIn: 2_592_000 });
  t.like(await app.myTenant(caller), {
    name: "Ada Lovelace's Workspace",
    plan: 'DEV',
    isSuspended: false,
    deletedAt: null,
  });
  t.like(await app.getAvatarConfig(caller), {
    gender: 'FEMALE',
    glbModel: 'aria.glb',
    voiceTier: 'STANDARD',
    languageCode: 'en-US',
    speakingRate: 1,
    liveTalkingUrl: null,
  });
  t.is(caller.displayName, 'Ada Lovelace');
  t.regex((await app.generateApiKey(caller)).key, /^sk_/); // only an owner may generate a key
});

test('an access token is an ES256 JWT with the contract’s claims, for 15 minutes', async (t) => {
  const { app, ports } = await identityApp(t, { publicUrl: 'https://parley.test' });
  const { tokens, caller } = await signUp(app);
  const { keys } = await app.getJwks();

  t.like(decodeProtectedHeader(tokens.accessToken), { alg: 'ES256', kid: keys[0]?.kid });
  const claims = decodeJwt(tokens.accessToken);
  t.like(claims, {
    iss: 'https://parley.test',
    aud: 'https://parley.test',
    sub: String(caller.userId),
    sid: caller.signInId,
  });
  t.truthy(claims.jti);
  t.is(Number(claims.exp) - Number(claims.iat), ports.settings.accessTokenTtlS);
});

test('the profile has the registered values, without write-only fields', async (t) => {
  const { app } = await identityApp(t);
  const { caller } = await signUp(app, {
    email: '  Ada@Example.TEST ',
    phoneCode: '44',
    phoneNumber: '07911 654321',
    idNo: 's1234567d',
    idType: 'NRIC',
    fcmToken: 'canary-fcm',
  });
  const profile = await app.getAuthProfile(caller);

  t.like(profile, {
    email: 'ada@example.test',
    username: null,
    phoneCode: '44',
    phoneNumber: '07911654321',
    idNo: 's1234567d',
    idType: 'NRIC',
    status: 'ACTIVE',
    twoFactorEnabled: false,
  });
  t.regex(profile?.referralCode ?? '', /^[2-9A-HJ-NP-Z]{8}$/);
  t.notRegex(JSON.stringify(profile), /canary|argon2/);
});

test('a phone number in another script is stored in ASCII and works for login in both', async (t) => {
  const { app } = await identityApp(t);
  const { caller, input } = await signUp(app, { phoneCode: '＋٤٤', phoneNumber: '٠٧٩١١٧٦٥٤٣٢' });
  t.like(await app.getAuthProfile(caller), { phoneCode: '+44', phoneNumber: '07911765432' });
  for (const phoneNumber of ['+447911765432', '٠٧٩١١٧٦٥٤٣٢', '7911765432', '＋４４ ７９１１ ７６５４３２']) {
    const { userId } = await callerOf(app, await app.login(anonymous, { phoneNumber, password: input.password }));
    t.is(userId, caller.userId, phoneNumber);
  }
});

test('the number of an identity document is returned exactly as given', async (t) => {
  const { app } = await identityApp(t);
  for (const idNo of ['straße 12', ' ab-１２ ', 'ıİ٣']) {
    const { caller } = await signUp(app, { idNo, idType: 'PASSPORT' });
    t.is((await app.getAuthProfile(caller))?.idNo, idNo);
  }
});

test('the number of an identity document, tokens and passwords are not stored in plain text', async (t) => {
  const { app, database } = await identityApp(t);
  await signUp(app, { idNo: 'CANARY-ID', idType: 'NRIC', fcmToken: 'CANARY-FCM', password: 'CANARY-password' });

  const rows = await database.transactShared(async ({ knex }) => [
    ...(await knex('users')),
    ...(await knex('sign_ins')),
    ...(await knex('refresh_tokens')),
  ]);
  const bytes = rows
    .flatMap(Object.values)
    .map((value) => (Buffer.isBuffer(value) ? value.toString('latin1') : String(value)));
  t.deepEqual(
    bytes.filter((text) => /CANARY|prt_/i.test(text)),
    [],
  );
});

test('of concurrent registrations with one email exactly one succeeds; the others are CONFLICT', async (t) => {
  const { app, replica, database } = await identityApp(t);
  const other = await replica();
  const outcomes = await Promise.allSettled(
    Array.from({ length: 8 }, (_, index) =>
      (index % 2 ? app : other).register(anonymous, { input: newRegistration({ email: 'one@example.test' }) }),
    ),
  );

  t.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
  for (const outcome of outcomes) if (outcome.status === 'rejected') t.is(outcome.reason.kind, 'conflict');
  const counts = await database.transactShared(async ({ knex }) => [
    await knex('users').count({ n: '*' }),
    await knex('tenants').count({ n: '*' }),
    await knex('sign_ins').count({ n: '*' }),
  ]);
  t.deepEqual(
    counts.flat().map(({ n }) => Number(n)),
    [1, 1, 1],
  );
});

test('email, phone and identity document are unique among live users after normalization', async (t) => {
  const { app, database } = await identityApp(t);
  const { caller } = await signUp(app, {
    email: 'a@example.test',
    phoneNumber: '7911123456',
    idNo: 'X1',
    idType: 'PASSPORT',
  });
  const taken = async (overrides: object) =>
    t.throwsAsync(app.register(anonymous, { input: newRegistration(overrides) }));

  t.like(await taken({ email: ' A@EXAMPLE.test' }), { kind: 'conflict', fields: [{ path: 'input.email' }] });
  t.like(await taken({ phoneCode: '44', phoneNumber: '07911 123 456' }), {
    kind: 'conflict',
    fields: [{ path: 'input.phoneNumber' }],
  });
  t.like(await taken({ idNo: ' x1 ', idType: 'PASSPORT' }), { kind: 'conflict', fields: [{ path: 'input.idNo' }] });
  for (const idNo of ['Ｘ１', 'x١'])
    t.like(await taken({ idNo, idType: 'PASSPORT' }), { kind: 'conflict', fields: [{ path: 'input.idNo' }] }, idNo);
  t.like(await taken({ phoneCode: '+44', phoneNumber: '٧٩١١١٢٣٤٥٦' }), { fields: [{ path: 'input.phoneNumber' }] });
  await t.notThrowsAsync(signUp(app, { idNo: 'X1', idType: 'NRIC' })); // a different type of document

  await database.transactShared(({ knex }) =>
    knex('users').where({ id: caller.userId }).update({ deleted_at: knex.fn.now() }),
  );
  await t.notThrowsAsync(
    signUp(app, { email: 'a@example.test', phoneNumber: '7911123456', idNo: 'X1', idType: 'PASSPORT' }),
  );
});

test('an invalid registration names every bad field and stores nothing', async (t) => {
  const { app, database } = await identityApp(t);
  const error = await t.throwsAsync<DomainError>(
    app.register(anonymous, {
      input: {
        email: 'nobody',
        password: 'short',
        fullname: ' ',
        phoneCode: '+44',
        phoneNumber: '1',
        idNo: '',
        fcmToken: 'a\0',
      },
    }),
    { instanceOf: DomainError },
  );

  t.is(error.kind, 'invalid');
  t.deepEqual(
    error.fields.map(({ path }) => path),
    ['input.email', 'input.password', 'input.fullname', 'input.fcmToken', 'input.idNo', 'input.phoneNumber'],
  );
  t.deepEqual(await database.transactShared(({ knex }) => knex('users')), []);
});

test('a password must have 8 to 128 characters and be neither the email nor common', async (t) => {
  const { app } = await identityApp(t);
  const refused = [
    '1234567',
    'x'.repeat(129),
    'password',
    'PASSWORD1',
    'iloveyou',
    'qwertyuiop',
    'p@example.test',
    'with\0nulls',
  ];
  for (const password of refused) {
    const error = await t.throwsAsync(
      app.register(anonymous, { input: newRegistration({ email: 'P@example.test', password }) }),
      undefined,
      password,
    );
    t.like(error, { kind: 'invalid', fields: [{ path: 'input.password' }] });
  }
  await t.notThrowsAsync(signUp(app, { password: '🎉'.repeat(128) }));
  await t.notThrowsAsync(signUp(app, { password: 'zpq7Km0w' }));
});

test('a referral code is resolved to its user, and an unknown one is refused', async (t) => {
  const { app, database } = await identityApp(t);
  const { caller } = await signUp(app);
  const referralCode = (await app.getAuthProfile(caller))?.referralCode ?? '';
  const referred = await signUp(app, { referralCode: ` ${referralCode.toLowerCase()}` });

  const [row] = await database.transactShared(({ knex }) => knex('users').where({ id: referred.caller.userId }));
  t.is(row.referrerId, caller.userId);
  const error = await t.throwsAsync(app.register(anonymous, { input: newRegistration({ referralCode: '22222222' }) }));
  t.like(error, { kind: 'invalid', fields: [{ path: 'input.referralCode' }] });
});

test('without open registration register is refused, and any code is invalid', async (t) => {
  const open = await identityApp(t);
  t.like(await t.throwsAsync(open.app.register(anonymous, { input: newRegistration(), token: { token: '123456' } })), {
    kind: 'invalid',
    message: 'The code or link is not valid',
  });
  for (const registration of ['otp', 'invite'] as const) {
    const { app } = await identityApp(t, { registration });
    t.like(await t.throwsAsync(app.register(anonymous, { input: newRegistration() })), { kind: 'invalid' });
    t.deepEqual(await app.isRegisterable({ email: 'new@example.test' }), { registerable: false, reasons: ['CLOSED'] });
  }
});

test('isRegisterable: every obstacle is named', async (t) => {
  const { app } = await identityApp(t);
  await signUp(app, { email: 'taken@example.test', idNo: 'A1', idType: 'NRIC' });

  t.deepEqual(await app.isRegisterable({ email: 'free@example.test' }), { registerable: true, reasons: [] });
  t.deepEqual(await app.isRegisterable({ email: 'free@example.test', idNo: null }), {
    registerable: true,
    reasons: [],
  });
  t.deepEqual(await app.isRegisterable({ email: ' Taken@example.test', idNo: 'a1' }), {
    registerable: false,
    reasons: ['EMAIL_TAKEN', 'ID_NO_TAKEN'],
  });
  t.deepEqual(await app.isRegisterable({ email: 'nobody' }), { registerable: false, reasons: ['EMAIL_INVALID'] });
  t.like(await t.throwsAsync(app.isRegisterable({ email: 'a\0@example.test' })), { kind: 'invalid' });
});

const naughty = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  'x\udc00',
  '\u202e',
  '﷽',
  '👩‍🚀',
  "'; DROP TABLE users; --",
  '<script>alert(1)</script>',
  '${7*7}',
  '%s%n',
  '../../etc/passwd',
  'NaN',
  'null',
  'undefined',
  '\r\nBcc: x@y.z',
  '\u0000\u0001',
  '١٢٣',
  'İ',
  '\ufeff',
  'a'.repeat(5000),
  '{"$gt":""}',
];

for (const field of [
  'email',
  'password',
  'fullname',
  'phoneCode',
  'phoneNumber',
  'fcmToken',
  'idNo',
  'idType',
  'referralCode',
] as const) {
  test(`hostile values of ${field} are stored or refused, and never cause an internal error`, async (t) => {
    const { app } = await identityApp(t);
    for (const value of naughty) {
      const person = newRegistration({ [field]: value });
      const [outcome] = await Promise.allSettled([app.register(anonymous, { input: person })]);
      if (outcome.status === 'rejected') {
        t.is(outcome.reason.kind, 'invalid', `${JSON.stringify(value)}: ${outcome.reason}`);
      } else if (field === 'fullname') {
        t.is((await app.getAuthProfile(await callerOf(app, outcome.value)))?.fullname, value);
      }
    }
  });
}

test('all spellings of an email are one account, and one of look-alike letters is refused', async (t) => {
  const { app } = await identityApp(t);
  const input = newRegistration({ email: 'info@müller.example' });
  await app.register(anonymous, { input });
  for (const email of ['info@xn--mller-kva.example', 'INFO@mu\u0308ller.example']) {
    t.like(await app.isRegisterable({ email }), { registerable: false, reasons: ['EMAIL_TAKEN'] });
    await t.throwsAsync(app.register(anonymous, { input: newRegistration({ email }) }), { message: /email/ });
    t.truthy((await app.login(anonymous, { email, password: input.password })).accessToken);
  }
  t.like(await app.isRegisterable({ email: '\u212aelvin@example.com' }), { reasons: ['EMAIL_INVALID'] });
});

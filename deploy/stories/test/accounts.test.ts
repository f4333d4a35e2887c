import test from 'ava';
import { newAccount, type Tokens, tokenFields } from '../src/client.ts';
import { stories } from '../src/stories.ts';

const story = stories(test);

const registerDocument = `mutation ($input: RegisterInput!) { register(input: $input) { ${tokenFields} } }`;
const loginDocument = `mutation ($input: SignInInput!) { login(input: $input) { ${tokenFields} } }`;

story.each('a new account has a profile, a tenant of its own on the DEV plan, and avatar defaults', async (t, mesh) => {
  const ada = await mesh.person();
  t.like(ada.tokens, { expiresIn: 900, refreshExpiresIn: 30 * 24 * 60 * 60 });
  const { getAuthProfile, myTenant, avatarConfig } = await ada.query(`{
    getAuthProfile { email fullname username phoneCode phoneNumber referralCode status twoFactorEnabled }
    myTenant { name plan isSuspended llmProviderOverride primaryBillingAccount deletedAt }
    avatarConfig { gender glbModel voiceTier languageCode speakingRate liveTalkingUrl }
  }`);
  const { referralCode, ...profile } = getAuthProfile as { referralCode: string };
  t.regex(referralCode, /^[A-Z2-9]{8}$/);
  t.deepEqual(profile, {
    email: ada.account?.email,
    fullname: 'Ada Lovelace',
    username: null,
    phoneCode: '+44',
    phoneNumber: ada.account?.phoneNumber,
    status: 'ACTIVE',
    twoFactorEnabled: false,
  });
  t.like(myTenant, { name: "Ada Lovelace's Workspace", plan: 'DEV', isSuspended: false, deletedAt: null });
  const { glbModel, ...defaults } = avatarConfig as { glbModel: string };
  t.regex(glbModel, /\.glb$/);
  const expected = { gender: 'FEMALE', voiceTier: 'STANDARD', languageCode: 'en-US', speakingRate: 1 };
  t.deepEqual(defaults, { ...expected, liveTalkingUrl: null });
});

story('an email and a phone belong to one account', async (t, mesh) => {
  const { visitor, person } = mesh;
  const { account } = await person();
  const again = (input: object) => visitor().refusal(registerDocument, { input: { ...newAccount(), ...input } });
  const conflict = { extensions: { code: 'CONFLICT', statusCode: 409 } };
  t.like(await again({ email: ` ${account?.email.toUpperCase()} ` }), conflict);
  t.like(await again({ phoneNumber: account?.phoneNumber }), conflict);
  t.like(await again({ ...account }), conflict);

  const registerable = async (email: string) => {
    const { isRegisterable } = await visitor().query<{ isRegisterable: unknown }>(
      'query ($email: String!) { isRegisterable(email: $email) }',
      { email },
    );
    return isRegisterable;
  };
  t.deepEqual(await registerable(account?.email ?? ''), { registerable: false, reasons: ['EMAIL_TAKEN'] });
  t.deepEqual(await registerable(newAccount().email), { registerable: true, reasons: [] });
});

story('of many concurrent registrations of one email, one succeeds', async (t, mesh) => {
  const { visitor } = mesh;
  const { email } = newAccount();
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => visitor().send(registerDocument, { input: { ...newAccount(), email } })),
  );
  const outcomes = answers.map(({ errors }) => errors?.[0]?.extensions.code ?? 'made');
  t.deepEqual(outcomes.toSorted(), ['CONFLICT', 'CONFLICT', 'CONFLICT', 'CONFLICT', 'made']);
});

story('people sign in by email, by full phone number and by national phone number', async (t, mesh) => {
  const { visitor, person } = mesh;
  const { account } = await person();
  if (!account) return t.fail();
  const { email, phoneNumber, password } = account;
  for (const input of [{ email: ` ${email.toUpperCase()}` }, { phoneNumber: `+44${phoneNumber}` }, { phoneNumber }]) {
    const client = visitor();
    await client.login({ ...input, password });
    t.deepEqual(
      await client.query('{ getAuthProfile { email } }'),
      { getAuthProfile: { email } },
      JSON.stringify(input),
    );
  }
  for (const input of [{ password }, { email, phoneNumber, password }]) {
    t.like(await visitor().refusal(loginDocument, { input }), { extensions: { code: 'BAD_REQUEST' } });
  }
});

story('a wrong password and an unknown account return identical bytes', async (t, mesh) => {
  const { visitor, person } = mesh;
  const { account } = await person();
  const { password } = newAccount();
  const answer = async (input: object) => {
    const { status, text, headers } = await visitor().send(loginDocument, { input });
    return { status, text, headers: [...headers].filter(([name]) => !['date', 'x-request-id'].includes(name)) };
  };
  const unknown = await answer({ email: newAccount().email, password });
  t.regex(unknown.text, /"UNAUTHENTICATED"/);
  t.is(unknown.status, 200);
  t.deepEqual(await answer({ email: account?.email, password }), unknown);
  t.deepEqual(await answer({ phoneNumber: `+44${account?.phoneNumber}`, password }), unknown);
  t.deepEqual(await answer({ phoneNumber: '+447000000000', password }), unknown);
});

story('a refresh token can be used once, and its successor is valid', async (t, mesh) => {
  const ada = await mesh.person();
  const refreshed = async (refreshToken: string) =>
    (
      await ada.query<{ refreshToken: Tokens }>(
        `mutation ($refreshToken: String!) { refreshToken(input: { refreshToken: $refreshToken }) { ${tokenFields} } }`,
        { refreshToken },
      )
    ).refreshToken;
  const first = ada.tokens;
  ada.tokens = { ...(first as Tokens), accessToken: 'not.a.token' }; // refreshing needs no valid access token
  const second = await refreshed(first?.refreshToken ?? '');
  t.not(second.refreshToken, first?.refreshToken);
  t.not(second.accessToken, first?.accessToken);
  const third = await refreshed(second.refreshToken);

  ada.tokens = third;
  t.like(await ada.query('{ getAuthProfile { email } }'), { getAuthProfile: { email: ada.account?.email } });
  ada.tokens = undefined;
  const refusal = await ada.refusal(
    'mutation ($refreshToken: String!) { refreshToken(input: { refreshToken: $refreshToken }) { expiresIn } }',
    { refreshToken: first?.refreshToken },
  );
  t.like(refusal, { extensions: { code: 'UNAUTHENTICATED', statusCode: 401 } });
  ada.tokens = third;
  t.like(
    await ada.refusal('{ getAuthProfile { email } }'),
    { extensions: { code: 'UNAUTHENTICATED' } },
    'a thief may hold it',
  );
});

story('a password must be long enough, not the email and not a common one', async (t, mesh) => {
  const { visitor } = mesh;
  const { email } = newAccount();
  for (const password of ['short', 'password123', email, 'x'.repeat(129)]) {
    const refusal = await visitor().refusal(registerDocument, { input: { ...newAccount(), email, password } });
    t.is(refusal.extensions.code, 'BAD_REQUEST', password.slice(0, 20));
    t.true(
      refusal.extensions.fields?.some(({ path }) => path === 'input.password'),
      JSON.stringify(refusal),
    );
  }
});

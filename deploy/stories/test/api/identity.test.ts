import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { generateSync } from 'otplib';
import { recordExamples } from '../../src/api-examples.ts';
import { newAccount, type Tokens } from '../../src/client.ts';
import { pricedProvider, promptOf, usageOf } from '../../src/direct-calls.ts';
import { newProviderAccount, ticketFor } from '../../src/identity-provider.ts';
import type { TestMesh } from '../../src/mesh.ts';
import { stories } from '../../src/stories.ts';

const story = stories(test);

const codeOf = (secret: string, steps: number) =>
  generateSync({ secret, epoch: Math.floor(Date.now() / 1000) + 30 * steps });

/** Waits for a mail to the address, and returns the match of the pattern in its text. */
function mailed({ mailTo }: TestMesh, email: string, pattern: RegExp): Promise<string> {
  return eventually(`a mail with ${pattern}`, async () => {
    const texts = (await mailTo(email)).map(({ text = '' }) => text);
    return texts.flatMap((text) => pattern.exec(text)?.[1] ?? [])[0];
  });
}

story('the examples of identity are those on its page', async (t, mesh) => {
  const { send, refused, show, compare } = recordExamples('identity');
  const account = newAccount();
  show(account.email, 'ada@example.com');
  show(account.password, 'correct horse battery');
  show(account.phoneNumber, '7700900123');
  const { email, password } = account;
  const ada = mesh.visitor();

  await send(ada, 'query ($email: String!, $idNo: String) { isRegisterable(email: $email, idNo: $idNo) }', {
    email,
    idNo: null,
  });
  const register = `mutation ($input: RegisterInput!, $token: ValidateSecuredTokenInput) {
    register(input: $input, token: $token) { accessToken expiresIn refreshToken refreshExpiresIn } }`;
  ada.tokens = await send<Tokens>(ada, register, { input: account });
  ada.account = account;
  await refused(mesh.visitor(), register, { input: account });
  const login = `mutation ($input: SignInInput!) {
    login(input: $input) { accessToken expiresIn refreshToken refreshExpiresIn } }`;
  ada.tokens = await send<Tokens>(ada, login, { input: { email, password } });
  const refresh = `mutation ($input: RefreshAccessTokenInput!) {
    refreshToken(input: $input) { accessToken expiresIn refreshToken refreshExpiresIn } }`;
  ada.tokens = await send<Tokens>(ada, refresh, { input: { refreshToken: ada.tokens.refreshToken } });
  await send(ada, '{ getAuthProfile { id email fullname status twoFactorEnabled createdAt } }');

  await send(ada, '{ myTenant { id name plan isSuspended llmProviderOverride } }');
  await send(ada, '{ myTenants { id name plan } }');
  await send(ada, '{ avatarConfig { gender glbModel voiceTier languageCode speakingRate } }');
  await send(
    ada,
    `mutation ($input: UpsertAvatarConfigInput!) {
      upsertAvatarConfig(input: $input) { gender glbModel voiceTier languageCode speakingRate } }`,
    { input: { gender: 'MALE', speakingRate: 1.1 } },
  );
  const { key } = await send<{ key: string }>(ada, 'mutation { generateApiKey { key warning } }');
  const server = Object.assign(mesh.visitor(), { apiKey: key });
  const usage = { prompt_tokens: 1_000, completion_tokens: 100 };
  mesh.model.answer('Name a colour.', { text: 'Green.', usage });
  const input = { prompt: promptOf(ada, 'Name a colour.'), provider: pricedProvider };
  await server.query('query ($input: GenerateTextInput!) { generateText(input: $input) { text } }', { input });
  await eventually('the call is settled', async () => (await usageOf(ada)).breakdown.length > 0);
  await send(ada, '{ apiUsageSummary { costThisMonthUsd monthlySpendCapUsd breakdown { model operation count } } }');
  const update = 'mutation ($input: UpdateTenantInput!) { updateTenant(input: $input) { id name region } }';
  await send(ada, update, { input: { name: 'Analytical Engines', region: null } });
  await refused(ada, update, { input: { name: ' ' } });
  await send(
    ada,
    `mutation ($billingAccount: PrimaryBillingAccountEnum!) {
      setPrimaryBillingAccount(billingAccount: $billingAccount) { id primaryBillingAccount } }`,
    { billingAccount: 'IDP_ONE' },
  );
  const first = await ada.value<{ id: number }>('{ myTenant { id } }');
  const create = 'mutation ($input: CreateTenantInput!) { createTenant(input: $input) { id name plan } }';
  const second = await send<{ id: number }>(ada, create, { input: { name: 'Branch office' } });
  const turnTo = 'mutation ($id: Int!) { switchTenant(id: $id) { id name } }';
  await send(ada, turnTo, { id: first.id });
  await refused(ada, turnTo, { id: 900_000_001 });
  await ada.query(turnTo, { id: second.id });
  await send(ada, 'mutation { deleteTenant }');
  await ada.query(turnTo, { id: first.id });

  const offer = 'mutation { generateTwoFactor { secret output } }';
  const { secret } = await send<{ secret: string }>(ada, offer);
  show(encodeURIComponent(email), 'ada%40example.com');
  show(secret, 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP');
  // Each code is accepted once. Codes of the previous and the next time step are accepted too. The test sends the first code, that of the
  // previous step, so it must arrive before the next time step begins.
  await eventually('a time step has ten seconds to go', () => Date.now() % 30_000 < 20_000, { timeoutMs: 30_000 });
  const codes = [codeOf(secret, -1), codeOf(secret, 0), codeOf(secret, 1)];
  for (const [n, code] of codes.entries()) show(code, ['482915', '730164', '159377'][n] ?? '');
  const bind = 'mutation ($input: BindTwoFactorInput!) { bindTwoFactor(input: $input) }';
  await send(ada, bind, { input: { secret, code: codes[0] } });
  await refused(ada, bind, { input: { secret, code: codes[0] } });
  const elsewhere = await ada.elsewhere();
  await send(elsewhere, 'mutation ($code: String!) { verifyTwoFactor(code: $code) }', { code: codes[1] });
  const unbind = 'mutation ($input: UnbindTwoFactorInput!) { unbindTwoFactor(input: $input) }';
  await send(ada, unbind, { input: { code: codes[2] } });
  await refused(ada, unbind, { input: { code: codes[2] } });

  const visitor = mesh.visitor();
  const sendCode = 'mutation ($input: GenerateOTPInput!) { generateOTP(input: $input) }';
  const id = await send<number>(visitor, sendCode, { input: { email, purpose: 'RESET_PASSWORD' } });
  show(id, 814209376);
  const code = await mailed(mesh, email, /\n(\d{6})\n/u);
  show(code, '206518');
  const token = { token: code, id };
  const validate = 'mutation ($input: ValidateSecuredTokenInput!) { validateSecuredToken(input: $input) }';
  await send(visitor, validate, { input: token });
  await refused(mesh.visitor(), validate, { input: { token: 'no code' } });
  const newPassword = 'a new and longer passphrase';
  const forgot = 'mutation ($input: PasswordWithOTPInput!) { forgotPasswordWithOTP(input: $input) }';
  await send(visitor, forgot, { input: { newPassword, token } });
  await send(
    mesh.visitor(),
    'mutation ($input: ResetPasswordEmailInput!) { resetUserPasswordWithUrl(input: $input) }',
    { input: { email, purpose: 'RESET_PASSWORD' } },
  );
  await ada.login({ email, password: newPassword });
  const change = 'mutation ($input: PasswordInput!) { changePassword(input: $input) }';
  await send(ada, change, { input: { newPassword: 'yet another passphrase' } });
  await refused(ada, change, { input: { newPassword: 'short' } });

  const grace = newProviderAccount();
  const [ticket, other] = [await ticketFor(mesh, grace), await ticketFor(mesh, newProviderAccount())];
  show(ticket, 'tkt_hR2c…');
  show(other, 'tkt_8Vqa…');
  const enter = `mutation ($ticket: String!) {
    loginWithIdpOne(ticket: $ticket) { accessToken expiresIn refreshToken refreshExpiresIn } }`;
  await send(mesh.visitor(), enter, { ticket });
  await refused(mesh.visitor(), enter, { ticket });
  const link = `mutation ($provider: AuthProvider!, $providerToken: String!) {
    linkIdentity(provider: $provider, providerToken: $providerToken) }`;
  await send(ada, link, { provider: 'IDP_ONE', providerToken: other });
  await refused(ada, link, { provider: 'IDP_ONE', providerToken: await ticketFor(mesh, grace) });
  const unlink = 'mutation ($provider: AuthProvider!) { unlinkIdentity(provider: $provider) }';
  await send(ada, unlink, { provider: 'IDP_ONE' });
  await refused(ada, unlink, { provider: 'PASSWORD' });
  compare(t);
});

import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { newAccount } from '../src/client.ts';
import type { TestMesh } from '../src/mesh.ts';
import { stories } from '../src/stories.ts';

const story = stories(test);

const generateOtp =
  'mutation ($email: String!, $purpose: TokenPurpose!) { generateOTP(input: { email: $email, purpose: $purpose }) }';
const resetWithUrl =
  'mutation ($email: String) { resetUserPasswordWithUrl(input: { email: $email, purpose: RESET_PASSWORD }) }';
const validate = 'mutation ($token: ValidateSecuredTokenInput!) { validateSecuredToken(input: $token) }';
const forgotPassword =
  'mutation ($newPassword: String!, $token: ValidateSecuredTokenInput!) { forgotPasswordWithOTP(input: { newPassword: $newPassword, token: $token }) }';
const login = 'mutation ($input: SignInInput!) { login(input: $input) { expiresIn } }';
const newPassword = 'a newly chosen passphrase';
const refused = { message: 'The code or link is not valid', extensions: { code: 'BAD_REQUEST', statusCode: 400 } };

/** Waits for the mail with this subject and returns the first match of the pattern. */
function mailed({ mailTo }: TestMesh, email: string, subject: string, pattern: RegExp): Promise<string> {
  return eventually(`a mail with ${pattern}`, async () => {
    const mail = (await mailTo(email)).find((each) => each.subject === subject);
    return mail && (pattern.exec(mail.text ?? '')?.[1] ?? '');
  });
}

for (const by of ['code', 'link'] as const) {
  story(`a mailed ${by} lets a user set a new password, which ends every sign-in`, async (t, mesh) => {
    const ada = await mesh.person();
    const elsewhere = await ada.elsewhere();
    const { email = '', password = '' } = ada.account ?? {};
    const visitor = mesh.visitor();
    let token: { token: string; id?: number };
    if (by === 'code') {
      const id = await visitor.value<number>(generateOtp, { email, purpose: 'RESET_PASSWORD' });
      const subject = 'Parley: your code to set a new password';
      token = { id, token: await mailed(mesh, email, subject, /\n(\d{6})\n/u) };
    } else {
      t.true(await visitor.value(resetWithUrl, { email }));
      const subject = 'Parley: your link to set a new password';
      token = { token: await mailed(mesh, email, subject, /\/reset-password\?token=(pst_[\w-]{43})\n/u) };
    }
    t.true(await visitor.value(validate, { token }));
    t.like(await visitor.refusal(forgotPassword, { newPassword: 'short', token }), {
      extensions: { code: 'BAD_REQUEST', fields: [{ path: 'input.newPassword' }] },
    });
    t.true(await visitor.value(forgotPassword, { newPassword, token }));

    for (const client of [ada, elsewhere]) {
      t.like(await client.refusal('{ getAuthProfile { id } }'), { extensions: { code: 'UNAUTHENTICATED' } });
    }
    t.like(await visitor.refusal(login, { input: { email, password } }), { extensions: { code: 'UNAUTHENTICATED' } });
    await visitor.login({ email, password: newPassword });
    t.deepEqual(await visitor.query('{ getAuthProfile { email } }'), { getAuthProfile: { email } });
    await mailed(mesh, email, 'Parley: your password was changed', /(changed)/u);
    t.like(await mesh.visitor().refusal(forgotPassword, { newPassword, token }), refused);
  });
}

story('no response reveals who is registered, or what is wrong with a code', async (t, mesh) => {
  const ada = await mesh.person();
  const emails = [ada.account?.email ?? '', newAccount().email];
  const ids = [];
  for (const email of emails) {
    t.true(await mesh.visitor().value(resetWithUrl, { email }));
    ids.push(await mesh.visitor().value<number>(generateOtp, { email, purpose: 'SIGN_IN' }));
  }
  const presented = [...ids.map((id) => ({ id })), { id: 7 }, {}, ...emails.map((contact) => ({ contact }))];
  const answers = await Promise.all(
    presented.map(async (given) => {
      const token = { ...given, token: 'no code' };
      const { status, text, headers } = await mesh.visitor().send(validate, { token });
      return JSON.stringify({
        status,
        text,
        headers: [...headers].filter(([name]) => !/^(date|x-request-id)$/u.test(name)),
      });
    }),
  );
  t.is(new Set(answers).size, 1, JSON.stringify(answers, null, 1));
  t.regex(answers[0] ?? '', /The code or link is not valid/u);
});

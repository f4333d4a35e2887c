import { randomBytes } from 'node:crypto';
import { eventually } from '@parley/testing/eventually';
import { startService } from '@parley/testing/service-harness';
import test, { type ExecutionContext } from 'ava';
import type { TokenPurpose } from '../src/generated/schema.ts';
import { identity } from '../src/service.ts';
import { wrongCode } from './support/codes.ts';
import { anonymous, newRegistration } from './support/identity-app.ts';
import { startMailServer } from './support/mail-server.ts';

const newPassword = 'a newly chosen password';

const documents = {
  generate: 'mutation ($input: GenerateOTPInput!) { generateOTP(input: $input) }',
  link: 'mutation ($input: ResetPasswordEmailInput!) { resetUserPasswordWithUrl(input: $input) }',
  validate: 'mutation ($input: ValidateSecuredTokenInput!) { validateSecuredToken(input: $input) }',
  forgot: 'mutation ($input: PasswordWithOTPInput!) { forgotPasswordWithOTP(input: $input) }',
  signUp:
    'mutation ($input: RegisterInput!, $token: ValidateSecuredTokenInput) { register(input: $input, token: $token) { expiresIn } }',
  signIn: 'mutation ($input: SignInInput!) { login(input: $input) { expiresIn } }',
};

/** Starts the unit with a mail server; `ask` sends requests as the gateway does. */
async function unitWithMail(t: ExecutionContext, env: Record<string, string> = {}) {
  const { mailbox, url } = await startMailServer(t);
  const SECRETS_KEYS = randomBytes(32).toString('base64');
  const started = await startService(t, identity, { env: { SECRETS_KEYS, SMTP_URL: url, ...env } });
  const { database, askGraph } = started;
  let seen = 0;
  /** Returns the status of the response, followed by its body. */
  const ask = async (document: keyof typeof documents, variables: object) => {
    const response = await askGraph(anonymous, documents[document], variables);
    return `${response.status} ${(await response.text()).trim()}`;
  };
  const nextMail = async () => {
    const mail = await eventually('the mail has come', () => mailbox[seen]);
    seen += 1;
    return mail;
  };
  return {
    database,
    mailbox,
    ask,
    nextMail,
    async code(email: string, purpose: TokenPurpose) {
      const { data } = await started.graph(anonymous, documents.generate, { input: { email, purpose } });
      const token = /\n(\d{6})\n/u.exec((await nextMail()).text ?? '')?.[1] ?? t.fail('no code');
      return { id: Number(data?.['generateOTP']), token };
    },
  };
}

test('under otp a person registers by a mailed code, and sets a new password by a mailed link', async (t) => {
  const unit = await unitWithMail(t, { REGISTRATION: 'otp', RESET_URL: 'https://app.example/reset' });
  const input = newRegistration();
  const login = (password: string) => unit.ask('signIn', { input: { email: input.email, password } });
  t.regex(await unit.ask('signUp', { input }), /The code or link is not valid/u);
  const token = await unit.code(input.email, 'SIGN_UP');
  t.is(await unit.ask('validate', { input: token }), '200 {"data":{"validateSecuredToken":true}}');
  t.is(await unit.ask('signUp', { input, token }), '200 {"data":{"register":{"expiresIn":900}}}');

  await unit.ask('link', { input: { email: input.email, purpose: 'RESET_PASSWORD' } });
  const { text = '', html = '', subject, to } = await unit.nextMail();
  t.is(subject, 'Parley: your link to set a new password');
  t.like(to, [{ address: input.email }]);
  const link = /https:\/\/app\.example\/reset\?token=(pst_[\w-]{43})\n/u.exec(text);
  t.true(html.includes(`href="${link?.[0].trim()}"`));
  const reset = { newPassword, token: { token: link?.[1] ?? '' } };
  t.is(await unit.ask('forgot', { input: reset }), '200 {"data":{"forgotPasswordWithOTP":true}}');
  t.is((await unit.nextMail()).subject, 'Parley: your password was changed');
  t.regex(await login(input.password), /UNAUTHENTICATED/u);
  t.regex(await login(newPassword), /"expiresIn":900/u);
});

test('rule 8, errors: locked, wrong, unknown, expired, used and replaced codes and those of another purpose get the same bytes from a flow', async (t) => {
  const { ask, code, database, nextMail } = await unitWithMail(t);
  const person = newRegistration();
  const newcomer = newRegistration();
  await ask('signUp', { input: person });

  const flows = {
    validate: (token: object) => ask('validate', { input: token }),
    forgot: (token: object) => ask('forgot', { input: { newPassword, token } }),
    signUp: (token: object) => ask('signUp', { input: newcomer, token }),
  };
  const age = (id: number) =>
    database.transactShared(({ knex }) =>
      knex('secured_tokens')
        .where({ id })
        .update({ expiresAt: new Date(0) }),
    );
  for (const [name, flow] of Object.entries(flows)) {
    const [email, purpose] =
      name === 'signUp' ? ([newcomer.email, 'SIGN_UP'] as const) : ([person.email, 'RESET_PASSWORD'] as const);
    const replaced = await code(email, purpose);
    const expired = await code(email, purpose);
    await age(expired.id);
    const right = await code(email, purpose);
    const { id, token } = right;
    const answers = new Map<string, string>();
    const otherPurpose = await code(person.email, 'SIGN_IN');
    answers.set('replaced', await flow(replaced));
    answers.set('expired', await flow(expired));
    answers.set('another purpose', name === 'validate' ? await flow(replaced) : await flow(otherPurpose));
    answers.set('unknown id', await flow({ id: 7, token }));
    answers.set('unknown contact', await flow({ contact: 'nobody@example.test', token }));
    answers.set('contact of nobody', await flow({ contact: '12', token }));
    answers.set('neither id nor contact', await flow({ token }));
    answers.set('another contact', await flow({ ...right, contact: 'nobody@example.test' }));
    answers.set('unknown link', await flow({ token: `pst_${'A'.repeat(43)}` }));
    for (let n = 0; n < 5; n += 1) answers.set(`wrong ${n}`, await flow({ id, token: wrongCode(token, n) }));
    answers.set('locked', await flow(right));
    const used = await code(email, purpose);
    await (name === 'signUp' ? flows.signUp(used) : flows.forgot(used));
    if (name !== 'signUp') t.is((await nextMail()).subject, 'Parley: your password was changed');
    answers.set('used', await flow(used));
    t.is(new Set(answers.values()).size, 1, JSON.stringify([...answers], null, 1));
    t.regex([...answers.values()][0] ?? '', /^200 .*"message":"The code or link is not valid".*"code":"BAD_REQUEST"/u);
  }
});

test('requests of codes and links get answers of one form, whoever is registered', async (t) => {
  const { ask, mailbox, database } = await unitWithMail(t);
  const person = newRegistration();
  await ask('signUp', { input: person });
  const contacts = [person.email, 'nobody@example.test', 'no address'];
  for (const email of contacts) {
    const input = { email, purpose: 'RESET_PASSWORD' };
    t.regex(await ask('generate', { input }), /^200 \{"data":\{"generateOTP":[1-9]\d*\}\}$/u);
    t.is(await ask('link', { input }), '200 {"data":{"resetUserPasswordWithUrl":true}}');
  }
  t.is(await ask('link', { input: { purpose: 'RESET_PASSWORD' } }), '200 {"data":{"resetUserPasswordWithUrl":true}}');
  const jobs = () => database.transactShared(({ knex }) => knex('jobs'));
  await eventually('every message is done with', async () => (await jobs()).length === 0);
  t.deepEqual(
    mailbox.flatMap(({ to }) => to?.map(({ address }) => address)),
    [person.email, person.email],
  );
});

import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { closedByServer, createAgent, follow, startSession } from '../src/conversation.ts';
import { stories } from '../src/stories.ts';

const story = stories(test, { on: 'processes' });

const changePassword = 'mutation ($newPassword: String!) { changePassword(input: { newPassword: $newPassword }) }';
const newPassword = 'a horse that answers to nothing';

story('changing the password ends every other sign-in at once, and its sockets within a second', async (t, mesh) => {
  const ada = await mesh.person();
  const { id } = await startSession(ada, await createAgent(ada));
  const [phone, laptop] = [await ada.elsewhere(), await ada.elsewhere()];
  const sockets = [phone, laptop].map((client) => follow(t, client, id));
  const own = follow(t, ada, id);
  await Promise.all([...sockets, own].map((events) => events.opened()));

  t.deepEqual(await ada.query(changePassword, { newPassword }), { changePassword: true });
  for (const client of [phone, laptop]) {
    t.like(await client.refusal('{ getAuthProfile { email } }'), { extensions: { code: 'UNAUTHENTICATED' } });
    t.like(
      await client.refusal(
        'mutation ($refreshToken: String!) { refreshToken(input: { refreshToken: $refreshToken }) { expiresIn } }',
        { refreshToken: client.tokens?.refreshToken },
      ),
      { extensions: { code: 'UNAUTHENTICATED' } },
    );
  }
  await closedByServer(t, sockets);

  t.like(await ada.query('{ getAuthProfile { email } }'), { getAuthProfile: { email: ada.account?.email } });
  t.is(own.closed, undefined);
  const { email = '', password = '' } = ada.account ?? {};
  t.like(
    await ada.refusal('mutation ($input: SignInInput!) { login(input: $input) { expiresIn } }', {
      input: { email, password },
    }),
    { extensions: { code: 'UNAUTHENTICATED' } },
  );
  await ada.login({ email, password: newPassword });
  const mail = await eventually('the owner is told', async () => (await mesh.mailTo(email))[0]);
  t.like(mail, { subject: 'Parley: your password was changed', to: [{ address: email }] });
});

story('a socket opens only with the platform header and a valid credential', async (t, mesh) => {
  const ada = await mesh.person();
  const { id } = await startSession(ada, await createAgent(ada));
  const refused = async (client: typeof ada, how: string) => {
    const events = follow(t, client, id);
    const { code } = await events.until(how, ({ closed }) => closed);
    t.is(code, 4403, how);
    t.deepEqual(events.all, []);
  };
  const forged = mesh.visitor();
  const [head, body] = (ada.tokens?.accessToken ?? '').split('.');
  const signature = Buffer.alloc(64, 7).toString('base64url');
  if (ada.tokens) forged.tokens = { ...ada.tokens, accessToken: `${head}.${body}.${signature}` };
  await refused(forged, 'a forged token');
  if (ada.tokens) forged.tokens = { ...ada.tokens, accessToken: 'abc' };
  await refused(forged, 'no token at all');
});

story('an access token that is forged, empty or of another kind is refused', async (t, mesh) => {
  const { visitor, person } = mesh;
  const ada = await person();
  const [head = '', body = '', signature = ''] = (ada.tokens?.accessToken ?? '').split('.');
  const payload = JSON.parse(Buffer.from(body, 'base64url').toString()) as object;
  const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const forgeries = {
    unsigned: `${encoded({ alg: 'none', typ: 'JWT' })}.${body}.`,
    'signed by nobody': `${head}.${body}.${Buffer.alloc(64, 1).toString('base64url')}`,
    'for another person': `${head}.${encoded({ ...payload, sub: '1' })}.${signature}`,
    'for longer': `${head}.${encoded({ ...payload, exp: 9_999_999_999 })}.${signature}`,
    'of another kind': 'sk_abc',
    'a session token': 'pst1.k1.abc.def',
  };
  for (const [how, accessToken] of Object.entries(forgeries)) {
    const client = visitor();
    if (ada.tokens) client.tokens = { ...ada.tokens, accessToken };
    t.is((await client.refusal('{ getAuthProfile { email } }')).extensions.code, 'UNAUTHENTICATED', how);
  }
});

story('operations require the platform header, and unknown operations have their own error code', async (t, mesh) => {
  const ada = await mesh.person();
  const without = await ada.send('{ myTenant { id } }', {}, { 'x-app-platform': 'browser' });
  t.is(without.status, 400);
  t.is(without.errors?.[0]?.extensions.code, 'PLATFORM_REQUIRED');
  const unknown = await ada.send('{ noSuchThing }');
  t.is(unknown.status, 400);
  t.is(unknown.errors?.[0]?.extensions.code, 'GRAPHQL_VALIDATION_FAILED');
});

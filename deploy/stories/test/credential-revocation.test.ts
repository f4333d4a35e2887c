import test from 'ava';
import type { Client, Tokens } from '../src/client.ts';
import { closedByServer, createAgent, follow, startSession } from '../src/conversation.ts';
import { idsOf, outcome, profile, withCredentials } from '../src/credentials.ts';
import { stories } from '../src/stories.ts';
import { withinASecond } from '../src/within-a-second.ts';

const story = stories(test, { on: 'processes' });

const refresh = `mutation ($refreshToken: String!) {
  refreshToken(input: { refreshToken: $refreshToken }) { accessToken expiresIn refreshToken refreshExpiresIn }
}`;

async function refreshed(client: Client, refreshToken = client.tokens?.refreshToken): Promise<Tokens> {
  return (await client.query<{ refreshToken: Tokens }>(refresh, { refreshToken })).refreshToken;
}

story(
  'changing the password ends other sign-ins, at once on the same gateway and within a second on every other',
  async (t, mesh) => {
    const { person, atSecond } = withCredentials(mesh);
    const ada = await person();
    const { id } = await startSession(ada, await createAgent(ada));
    const phone = await ada.elsewhere();
    const elsewhere = atSecond(phone);
    const sockets = [follow(t, phone, id), follow(t, elsewhere, id)];
    const own = follow(t, atSecond(ada), id);
    await Promise.all([...sockets, own].map((events) => events.opened()));
    for (const client of [phone, elsewhere]) t.is(await outcome(client, profile), 'ok');

    await ada.query('mutation { changePassword(input: { newPassword: "a horse that answers to nothing" }) }');
    t.is(await outcome(phone, profile), 'UNAUTHENTICATED');
    await withinASecond(mesh.url, 'the other gateway knows', async () => (await outcome(elsewhere, profile)) !== 'ok');
    await closedByServer(t, sockets);
    for (const client of [ada, atSecond(ada)]) t.is(await outcome(client, profile), 'ok');
    t.is(own.closed, undefined);
  },
);

story('twenty parallel uses of one refresh token over two gateways return one successor', async (t, mesh) => {
  const { person, atSecond, visitor } = withCredentials(mesh);
  const ada = await person();
  const refreshToken = ada.tokens?.refreshToken;
  const clients = Array.from({ length: 20 }, (_, n) => (n % 2 ? visitor() : atSecond(visitor())));
  const answers = await Promise.all(clients.map((client) => refreshed(client, refreshToken)));
  t.is(new Set(answers.map((tokens) => tokens.refreshToken)).size, 1);
  t.is(new Set(answers.map((tokens) => tokens.accessToken)).size, 20);
  t.is(await outcome(ada, profile), 'ok');
  await refreshed(visitor(), answers[0]?.refreshToken);
});

story(
  'reusing a spent refresh token ends its sign-in, at once on the same gateway and within a second on others',
  async (t, mesh) => {
    const { person, atSecond } = withCredentials(mesh);
    const ada = await person();
    const { id } = await startSession(ada, await createAgent(ada));
    const events = follow(t, atSecond(ada), id);
    await events.opened();
    const elsewhere = await ada.elsewhere();
    const spent = ada.tokens?.refreshToken;
    const successor = await refreshed(ada);
    const third = await refreshed(ada, successor.refreshToken);

    t.like(await ada.refusal(refresh, { refreshToken: spent }), {
      message: 'Invalid or expired refresh token',
      extensions: { code: 'UNAUTHENTICATED' },
    });
    t.is(await outcome(ada, profile), 'UNAUTHENTICATED');
    const other = atSecond(ada);
    await withinASecond(mesh.url, 'the other gateway knows', async () => (await outcome(other, profile)) !== 'ok');
    await closedByServer(t, [events]);
    t.is(await outcome(ada, refresh, { refreshToken: third.refreshToken }), 'UNAUTHENTICATED');
    t.is(await outcome(elsewhere, profile), 'ok', 'another sign-in of the same person goes on');
  },
);

story('a suspended user is refused by every gateway within a second, with or without announcement', async (t, mesh) => {
  const { person, atSecond, people } = withCredentials(mesh);
  const ada = await person();
  const { userId } = await idsOf(ada);
  const { id } = await startSession(ada, await createAgent(ada));
  const sockets = [follow(t, ada, id), follow(t, atSecond(ada), id)];
  await Promise.all(sockets.map((events) => events.opened()));

  await people(({ knex }) => knex('users').where({ id: userId }).update({ status: 'SUSPENDED' }));
  for (const client of [ada, atSecond(ada)]) {
    await withinASecond(
      mesh.url,
      'it is refused',
      async () => (await outcome(client, profile)) === 'FORBIDDEN USER_SUSPENDED',
    );
  }
  await closedByServer(t, sockets);

  const { email = '', password = '' } = ada.account ?? {};
  const login = 'mutation ($input: SignInInput!) { login(input: $input) { expiresIn } }';
  t.is(await outcome(ada, login, { input: { email, password } }), 'FORBIDDEN USER_SUSPENDED');
  t.is(await outcome(ada, login, { input: { email, password: 'wrong password' } }), 'UNAUTHENTICATED');
  t.is(await outcome(ada, refresh, { refreshToken: ada.tokens?.refreshToken }), 'FORBIDDEN USER_SUSPENDED');
});

for (const reason of ['TWO_FACTOR_REQUIRED', 'EMAIL_PROOF_REQUIRED']) {
  story(
    `a sign-in limited by ${reason} can read its profile and refresh its tokens, and nothing else`,
    async (t, mesh) => {
      const { person, atSecond, people } = withCredentials(mesh);
      const ada = await person();
      const { userId } = await idsOf(ada);
      await people(({ knex }) => knex('sign_ins').where({ user_id: userId }).update({ limited_reason: reason }));
      const clients = [ada, atSecond(ada)];
      for (const client of clients) {
        await withinASecond(
          mesh.url,
          'it is limited',
          async () => (await outcome(client, '{ myTenant { id } }')) !== 'ok',
        );
      }
      for (const client of clients) {
        t.is(await outcome(client, '{ myTenant { id } }'), `FORBIDDEN ${reason}`);
        t.is(await outcome(client, 'mutation { createTenant(input: { name: "B" }) { id } }'), `FORBIDDEN ${reason}`);
        t.is(await outcome(client, profile), 'ok');
      }
      const events = follow(t, ada, 1);
      t.is((await events.until('the refusal', ({ closed }) => closed)).code, 4403);

      ada.tokens = await refreshed(ada);
      t.is(await outcome(ada, profile), 'ok');
      t.is(await outcome(ada, '{ agentCount }'), `FORBIDDEN ${reason}`, 'a refreshed token is as limited');
    },
  );
}

story('login returns identical bytes for an unknown account and a wrong password', async (t, mesh) => {
  const { person, visitor } = withCredentials(mesh);
  const ada = await person();
  const { email = '', password = '' } = ada.account ?? {};
  const login = 'mutation ($input: SignInInput!) { login(input: $input) { accessToken } }';
  const bytes = async (input: object) => {
    const { status, text, headers } = await visitor().send(login, { input });
    return JSON.stringify({ status, text, headers: [...headers.keys()], length: headers.get('content-length') });
  };
  const answers = new Set([
    await bytes({ email, password: 'wrong password' }),
    await bytes({ email, password: '' }),
    await bytes({ email: 'nobody@example.com', password }),
    await bytes({ phoneNumber: '+447700900000', password }),
  ]);
  t.is(answers.size, 1, [...answers].join('\n'));
  t.is(await outcome(visitor(), login, { input: { email, password } }), 'ok');
});

import { identitySchema } from '@parley/identity/schema';
import test from 'ava';
import { closedByServer, createAgent, follow, startSession } from '../src/conversation.ts';
import { idsOf, outcome, profile, withCredentials } from '../src/credentials.ts';
import { operator, operatorOf } from '../src/operator.ts';
import { stories } from '../src/stories.ts';
import { withinASecond } from '../src/within-a-second.ts';

const story = stories(test, { on: 'processes' });

story(
  'suspending a user ends all sign-ins and sockets of the user on every gateway within a second',
  async (t, given) => {
    const mesh = withCredentials(given);
    const admin = await operatorOf(t, mesh);
    const ada = await mesh.person();
    const { userId } = await idsOf(ada);
    const { id } = await startSession(ada, await createAgent(ada));
    const clients = [ada, mesh.atSecond(ada), await ada.elsewhere()];
    const sockets = clients.map((client) => follow(t, client, id));
    await Promise.all(sockets.map((events) => events.opened()));

    await admin.setUserSuspension({ userId, suspended: true }, { caller: operator });
    await closedByServer(t, sockets);
    for (const client of clients) {
      await withinASecond(
        mesh.url,
        'it is refused',
        async () => (await outcome(client, profile)) === 'UNAUTHENTICATED',
      );
    }
    const { email = '', password = '' } = ada.account ?? {};
    const login = 'mutation ($input: SignInInput!) { login(input: $input) { expiresIn } }';
    t.is(await outcome(ada, login, { input: { email, password } }), 'FORBIDDEN USER_SUSPENDED');

    await admin.setUserSuspension({ userId, suspended: false }, { caller: operator });
    t.is(await outcome(ada, profile), 'UNAUTHENTICATED', 'a sign-in that was revoked stays so');
    await ada.login({ email, password });
    t.is(await outcome(ada, profile), 'ok');
  },
);

story('a tenant that an operator suspends is refused on every gateway, and so is its API key', async (t, given) => {
  const mesh = withCredentials(given);
  const admin = await operatorOf(t, mesh);
  const ada = await mesh.person();
  const { tenantId } = await idsOf(ada);
  const server = await ada.withApiKey();
  const ask = '{ generateText(input: { prompt: "hello" }) { text } }';
  mesh.model.answer('hello', { text: 'Hi.' });
  t.is(await outcome(server, ask), 'ok');

  await admin.setTenantSuspension({ tenantId, suspended: true }, { caller: operator });
  const update = 'mutation { upsertAvatarConfig(input: { speakingRate: 1.5 }) { id } }';
  for (const client of [ada, mesh.atSecond(ada)]) {
    const isClosed = async () => (await outcome(client, update)) === 'FORBIDDEN TENANT_SUSPENDED';
    await withinASecond(mesh.url, 'it is closed', isClosed);
  }
  t.is(await outcome(server, ask), 'FORBIDDEN TENANT_SUSPENDED');
  const lift = 'mutation { updateTenant(input: { isSuspended: false }) { id } }';
  t.is(await outcome(ada, lift), 'FORBIDDEN SUSPENDED_BY_OPERATOR');

  await admin.setTenantSuspension({ tenantId, suspended: false }, { caller: operator });
  for (const client of [ada, mesh.atSecond(ada)]) {
    await withinASecond(mesh.url, 'it is open', async () => (await outcome(client, update)) === 'ok');
  }
});

story('a new signing key is published for longer than a key set may be cached before it signs', async (t, mesh) => {
  const admin = await operatorOf(t, withCredentials(mesh));
  const { key: made } = await admin.rotateAccessTokenKey({}, { caller: operator });
  const kid = made?.kid ?? '';

  const [key] = await mesh
    .database(identitySchema)
    .transactShared(({ knex }) =>
      knex('signing_keys')
        .where({ kid })
        .select(knex.raw('extract(epoch FROM signs_from - created_at)::float AS "publishedForS"')),
    );
  for (const url of mesh.gateways) {
    const response = await fetch(new URL('/.well-known/jwks.json', url));
    const maxAgeS = Number(/max-age=(\d+)/u.exec(response.headers.get('cache-control') ?? '')?.[1]);
    // `maxAgeS` counts twice: the gateway caches the key set for this time, and so do the gateway's clients.
    t.true(key.publishedForS > 2 * maxAgeS + 60, `${key.publishedForS} s, and it is kept for twice ${maxAgeS} s`);
  }
});

import { randomUUID } from 'node:crypto';
import { identitySchema } from '@parley/identity/schema';
import { sessionSchema } from '@parley/session/schema';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import type { Answer, Client } from '../src/client.ts';
import { createAgent, readSession, startSession } from '../src/conversation.ts';
import { callerWithKey, pricedProvider, promptOf, usageOf } from '../src/direct-calls.ts';
import type { TestMesh } from '../src/mesh.ts';
import { stories } from '../src/stories.ts';

const story = stories(test, { on: 'processes' });

const start = `mutation ($agentId: Int!) {
  startSession(input: { agentId: $agentId, clientExternalId: "visitor" }) { id startedAt agent { name } }
}`;
const send = 'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { id } }';
const generate = 'query ($input: GenerateTextInput!) { generateText(input: $input) { text costUsd } }';
const startGeneration = 'mutation ($input: GenerateTextInput!) { startTextGeneration(input: $input) { requestId } }';
const inProgress = { code: 'CONFLICT', statusCode: 409, reason: 'IDEMPOTENCY_KEY_IN_PROGRESS' };

const withKey = (key: string) => ({ 'idempotency-key': key });

/** Returns one client for each gateway, all with the given client's credentials. */
function atBoth(client: Client, { gateways }: TestMesh): Client[] {
  return gateways.map((url) => Object.assign(client.at(url), { apiKey: client.apiKey }));
}

/**
 * Sends the same request to both gateways concurrently, again and again until all responses are equal, because early responses may be
 * CONFLICT.
 */
async function insist(
  clients: Client[],
  query: string,
  variables: object,
  key: string = randomUUID(),
): Promise<string> {
  const ask = (client: Client) =>
    eventually('an answer', async () => {
      const { text, errors } = await client.send(query, variables, withKey(key));
      if (!errors) return text;
      if (errors[0]?.extensions.reason !== inProgress.reason) throw new Error(text);
      return undefined;
    });
  const answers = await Promise.all([...clients, ...clients, ...clients].map(ask));
  for (const client of clients) answers.push(await ask(client));
  const [first = '', ...others] = new Set(answers);
  if (others.length > 0) throw new Error(`different answers: ${[first, ...others].join(' and ')}`);
  return first;
}

story(
  'concurrent and repeated requests with one key over two gateways get one session, one message and one response',
  async (t, mesh) => {
    const ada = await mesh.person();
    const agentId = await createAgent(ada);
    const clients = atBoth(ada, mesh);
    const { data } = JSON.parse(await insist(clients, start, { agentId })) as Answer<{ startSession: { id: number } }>;
    const { id: sessionId } = data?.startSession ?? t.fail();
    await insist(clients, send, { input: { sessionId, text: 'Once only.', clientTurnId: 'mine' } });
    t.is(await ada.value('{ sessionCount }'), 1);
    await eventually('the reply', async () => (await readSession(ada, sessionId)).messages.length === 2);
    t.is(mesh.model.requestsFor('Once only.').length, 1);

    for (const key of ['a', 'b']) await insist(clients, start, { agentId }, key);
    t.is(await ada.value('{ sessionCount }'), 3, 'another key is another request');
  },
);

story('the same key with another body is refused as BAD_REQUEST at both gateways', async (t, mesh) => {
  const ada = await mesh.person();
  const agentId = await createAgent(ada);
  const key = randomUUID();
  await ada.send(start, { agentId }, withKey(key));
  for (const client of atBoth(ada, mesh)) {
    const { errors } = await client.send(start.replace('visitor', 'somebody'), { agentId }, withKey(key));
    t.like(errors?.[0]?.extensions, { code: 'BAD_REQUEST', statusCode: 400, reason: 'IDEMPOTENCY_KEY_REUSED' });
  }
  t.is(await ada.value('{ sessionCount }'), 1);
});

story('a retry gets the new API key again, and the key cannot be read in the database', async (t, mesh) => {
  const ada = await mesh.person();
  const document = 'mutation { generateApiKey { key warning } }';
  const answer = await insist(atBoth(ada, mesh), document, {});
  const { data } = JSON.parse(answer) as Answer<{ generateApiKey: { key: string } }>;
  const { key: apiKey } = data?.generateApiKey ?? t.fail();
  const bearer = Object.assign(ada.at(ada.url), { tokens: undefined, apiKey });
  t.is(
    (await bearer.send('{ generateText(input: { prompt: "Hi" }) { text } }')).errors,
    undefined,
    'it is the live one',
  );

  const rows = await mesh.database(identitySchema).transactShared(({ knex }) => knex('idempotency_keys'));
  t.true(rows.length > 0);
  const stored = rows.flatMap((row) => Object.values(row));
  const secrets = [apiKey, apiKey.slice(3, 30), 'sk_', 'This key is shown only once'];
  for (const value of stored) {
    const forms = Buffer.isBuffer(value) ? [value.toString('latin1')] : [String(value)];
    t.false(forms.some((form) => secrets.some((secret) => form.includes(secret))));
  }
});

story('the same key means another request for another sign-in of the user, and for an API key', async (t, mesh) => {
  const ada = await mesh.person();
  const agentId = await createAgent(ada);
  const elsewhere = await ada.elsewhere();
  const idOf = async (client: Client) =>
    (await client.send<{ startSession: { id: number } }>(start, { agentId }, withKey('k'))).data?.startSession.id;
  t.not(await idOf(ada), await idOf(elsewhere));

  mesh.model.answer('Say it.', { text: 'Said.', usage: { prompt_tokens: 1, completion_tokens: 1 } });
  const { caller } = await callerWithKey(ada);
  const input = { prompt: promptOf(ada, 'Say it.'), provider: pricedProvider };
  for (let i = 0; i < 2; i++) t.is((await caller().send(generate, { input }, withKey('k'))).errors, undefined);
  t.is(mesh.model.requestsFor('Say it.').length, 1);
});

story('generateText with a key makes one call at one cost, even if the first client disconnects', async (t, mesh) => {
  const ada = await mesh.person();
  const { caller } = await callerWithKey(ada);
  const gate = createGate();
  mesh.model.answer('Think.', {
    text: 'Thought.',
    beforeHeaders: gate,
    usage: { prompt_tokens: 1_000, completion_tokens: 100 },
  });
  const input = { prompt: promptOf(ada, 'Think.'), provider: pricedProvider };
  const leaving = new AbortController();
  const left = caller().send(generate, { input }, withKey('k'), leaving.signal);
  await eventually('the model is asked', () => mesh.model.requestsFor('Think.').length === 1);
  leaving.abort();
  await t.throwsAsync(left);
  const clients = mesh.gateways.map((url) => Object.assign(caller().at(url), { apiKey: caller().apiKey }));
  for (const client of clients) {
    t.like((await client.send(generate, { input }, withKey('k'))).errors?.[0]?.extensions, inProgress);
  }
  gate.open();
  const [client = t.fail()] = clients;
  const { data } = await eventually('the answer', async () => {
    const answer = await client.send(generate, { input }, withKey('k'));
    return !answer.errors && answer;
  });
  t.deepEqual(data, { generateText: { text: 'Thought.', costUsd: 0.0035 } });
  t.is(mesh.model.requestsFor('Think.').length, 1);
  // allow-name generateText: the operation's name in the ledger
  t.deepEqual((await usageOf(ada)).breakdown, [{ model: 'gpt-4o', operation: 'generateText', count: 1 }]);
  t.is((await usageOf(ada)).costThisMonthUsd, 0.0035);
});

story('startTextGeneration with a key returns the same requestId, and generates once', async (t, mesh) => {
  const ada = await mesh.person();
  const { caller } = await callerWithKey(ada);
  mesh.model.answer('Begin.', { text: 'Begun.', usage: { prompt_tokens: 1_000, completion_tokens: 100 } });
  const input = { prompt: promptOf(ada, 'Begin.'), provider: pricedProvider };
  // Each client has its own address, because the rate limit of direct calls applies to each address.
  const clients = mesh.gateways.map((url) => Object.assign(caller().at(url), { apiKey: caller().apiKey }));
  await insist(clients, startGeneration, { input });
  await eventually('it is counted', async () => (await usageOf(ada)).breakdown[0]?.count === 1);
  t.is(mesh.model.requestsFor('Begin.').length, 1);
});

story(
  'createTenant and switchTenant with a key happen once, even if the retry comes from another tenant',
  async (t, mesh) => {
    const ada = await mesh.person();
    const { id: first } = await ada.value<{ id: number }>('{ myTenant { id } }');
    await insist(atBoth(ada, mesh), 'mutation { createTenant(input: { name: "Once" }) { id name } }', {});
    const owned = await mesh.database(identitySchema).transactShared(async ({ knex }) => {
      const [{ userId }] = await knex('users').where({ email: ada.account?.email }).select({ userId: 'id' });
      return knex('memberships').where({ userId });
    });
    t.is(owned.length, 2, 'the first one, and the new one');
    await insist(atBoth(ada, mesh), `mutation { switchTenant(id: ${first}) { id } }`, {});
    t.is((await ada.value<{ id: number }>('{ myTenant { id } }')).id, first);
  },
);

story('deleteTenant with a key deletes one tenant, although the retry has none', async (t, mesh) => {
  const ada = await mesh.person();
  await insist(atBoth(ada, mesh), 'mutation { deleteTenant }', {});
  t.like(await ada.refusal('mutation { deleteTenant }'), { extensions: { reason: 'NO_TENANT' } });
});

story('a revoked sign-in gets no stored response for its keys', async (t, mesh) => {
  const ada = await mesh.person();
  const agentId = await createAgent(ada);
  const elsewhere = await ada.elsewhere();
  t.is((await elsewhere.send(start, { agentId }, withKey('k'))).errors, undefined);
  const input = { newPassword: 'a new passphrase, quite long' };
  await ada.query('mutation ($input: PasswordInput!) { changePassword(input: $input) }', { input });
  for (const client of atBoth(elsewhere, mesh)) {
    await eventually('it is refused', async () => {
      const { errors } = await client.send(start, { agentId }, withKey('k'));
      return errors?.[0]?.extensions.code === 'UNAUTHENTICATED';
    });
  }
});

story('a request without a key stores nothing', async (t, mesh) => {
  const ada = await mesh.person();
  const { id } = await startSession(ada, await createAgent(ada));
  const { id: tenantId } = await ada.value<{ id: number }>('{ myTenant { id } }');
  t.is((await readSession(ada, id)).id, id);
  const stored = await mesh
    .database(identitySchema)
    .transactShared(({ knex }) => knex('idempotency_keys').where({ tenantId }));
  const committed = await mesh
    .database(sessionSchema)
    .transact(tenantId, ({ knex }) => knex('committed_keys').where({ tenantId }));
  t.deepEqual([stored, committed], [[], []]);
});

import test from 'ava';
import { createAgent, readSession, startSession } from '../src/conversation.ts';
import { stories } from '../src/stories.ts';

const story = stories(test);

const noTenant = { extensions: { code: 'FORBIDDEN', statusCode: 403, reason: 'NO_TENANT' } };

story(
  'a second tenant becomes the current one of the sign-in that created it, without data of the first tenant',
  async (t, mesh) => {
    const ada = await mesh.person();
    const agentId = await createAgent(ada);
    const elsewhere = await ada.elsewhere();
    const { createTenant } = await ada.query<{ createTenant: { id: number; name: string; plan: string } }>(
      'mutation { createTenant(input: { name: "Analytical Engines", plan: PRO }) { id name plan } }',
    );
    t.like(createTenant, { name: 'Analytical Engines', plan: 'PRO' });
    const here = '{ myTenant { id } agentCount avatarConfig { gender } }';
    t.deepEqual(await ada.query(here), {
      myTenant: { id: createTenant.id },
      agentCount: 0,
      avatarConfig: { gender: 'FEMALE' },
    });
    const first = await elsewhere.query<{ myTenant: { id: number }; agentCount: number }>(here);
    t.not(first.myTenant.id, createTenant.id);
    t.is(first.agentCount, 1, 'another sign-in stays where it was');
    t.deepEqual(await ada.query('query ($id: ID!) { agent(id: $id) { id } }', { id: agentId }), { agent: null });
  },
);

story('members of a deleted tenant have none until they create another', async (t, mesh) => {
  const ada = await mesh.person();
  const agentId = await createAgent(ada);
  const { id: sessionId } = await startSession(ada, agentId);
  const elsewhere = await ada.elsewhere();
  t.deepEqual(await ada.query('mutation { deleteTenant }'), { deleteTenant: true });

  for (const client of [ada, elsewhere]) {
    t.deepEqual(await client.query('{ myTenant { id } getAuthProfile { fullname } }'), {
      myTenant: null,
      getAuthProfile: { fullname: 'Ada Lovelace' },
    });
    for (const query of [
      '{ agents { id } }',
      '{ agentCount }',
      '{ sessions { id } }',
      '{ sessionCount }',
      '{ avatarConfig { id } }',
    ]) {
      t.like(await client.refusal(query), noTenant, query);
    }
    t.like(await client.refusal('query ($id: ID!) { session(id: $id) { id } }', { id: sessionId }), noTenant);
    t.like(await client.refusal('mutation { deleteTenant }'), noTenant);
    t.like(await client.refusal('mutation { generateApiKey { key } }'), noTenant);
  }
  await ada.query('mutation { createTenant(input: { name: "Again" }) { id } }');
  t.like(await ada.query('{ myTenant { name } agentCount }'), { myTenant: { name: 'Again' }, agentCount: 0 });
});

story('updateTenant changes the given fields, and null clears only the overrides', async (t, mesh) => {
  const ada = await mesh.person();
  const update =
    'mutation ($input: UpdateTenantInput!) { updateTenant(input: $input) { name plan llmProviderOverride llmModelOverride } }';
  t.deepEqual(
    await ada.query(update, {
      input: { llmProviderOverride: 'CLOUD_HOSTED_MODELS', llmModelOverride: 'gpt-4o', name: 'Renamed' },
    }),
    {
      updateTenant: {
        name: 'Renamed',
        plan: 'DEV',
        llmProviderOverride: 'CLOUD_HOSTED_MODELS',
        llmModelOverride: 'gpt-4o',
      },
    },
  );
  t.deepEqual(await ada.query(update, { input: { llmProviderOverride: null } }), {
    updateTenant: { name: 'Renamed', plan: 'DEV', llmProviderOverride: null, llmModelOverride: 'gpt-4o' },
  });
  for (const input of [{ name: null }, { plan: null }, { isSuspended: null }, { name: '  ' }]) {
    t.is((await ada.refusal(update, { input })).extensions.code, 'BAD_REQUEST', JSON.stringify(input));
  }
});

story('an API key is shown once, in its documented form, and replaces the previous one', async (t, mesh) => {
  const ada = await mesh.person();
  const generate = async () => {
    const { generateApiKey } = await ada.query<{ generateApiKey: { key: string; warning: string } }>(
      'mutation { generateApiKey { key warning } }',
    );
    return generateApiKey;
  };
  const [first, second] = [await generate(), await generate()];
  t.regex(first.key, /^sk_[0-9A-Za-z]{43,60}$/);
  t.not(first.key, second.key);
  t.regex(first.warning, /once/i);
  // None of these operations accepts an API key. A key counts as no credential where another kind is required.
  const { visitor } = mesh;
  const answer = await visitor().send('{ myTenant { id } }', {}, { 'x-api-key': second.key });
  t.is(answer.errors?.[0]?.extensions.code, 'UNAUTHENTICATED');
});

story('avatar defaults are changed field by field, and null clears only the address', async (t, mesh) => {
  const ada = await mesh.person();
  const fields = 'gender glbModel voiceTier languageCode speakingRate liveTalkingUrl';
  const upsert = `mutation ($input: UpsertAvatarConfigInput!) { upsertAvatarConfig(input: $input) { ${fields} } }`;
  const { upsertAvatarConfig: changed } = await ada.query<{ upsertAvatarConfig: object }>(upsert, {
    input: { gender: 'MALE', speakingRate: 1.25, liveTalkingUrl: 'https://talk.example.com/live' },
  });
  t.like(changed, {
    gender: 'MALE',
    voiceTier: 'STANDARD',
    languageCode: 'en-US',
    speakingRate: 1.25,
    liveTalkingUrl: 'https://talk.example.com/live',
  });
  t.deepEqual(await ada.query(upsert, { input: { liveTalkingUrl: null } }), {
    upsertAvatarConfig: { ...changed, liveTalkingUrl: null },
  });
  for (const input of [{ gender: null }, { glbModel: null }, { speakingRate: null }, { speakingRate: 9 }]) {
    t.is((await ada.refusal(upsert, { input })).extensions.code, 'BAD_REQUEST', JSON.stringify(input));
  }
  t.deepEqual(await ada.query(`{ avatarConfig { ${fields} } }`), {
    avatarConfig: { ...changed, liveTalkingUrl: null },
  });
});

story('a suspended tenant can be read and unsuspended and its sessions ended, nothing else', async (t, mesh) => {
  const ada = await mesh.person();
  const agentId = await createAgent(ada);
  const { id: sessionId } = await startSession(ada, agentId);
  const suspend = 'mutation ($on: Boolean!) { updateTenant(input: { isSuspended: $on }) { isSuspended } }';
  await ada.query(suspend, { on: true });
  const suspended = { extensions: { code: 'FORBIDDEN', statusCode: 403, reason: 'TENANT_SUSPENDED' } };
  t.like(
    await ada.refusal('mutation ($id: Int!) { sendMessage(input: { sessionId: $id, text: "Hi" }) { id } }', {
      id: sessionId,
    }),
    suspended,
  );
  t.like(await ada.refusal('mutation ($id: ID!) { deleteAgent(id: $id) }', { id: agentId }), suspended);
  t.is((await readSession(ada, sessionId)).status, 'ACTIVE');
  await ada.query('mutation ($id: ID!) { endSession(sessionId: $id) { status } }', { id: sessionId });
  await ada.query(suspend, { on: false });
  t.deepEqual(await ada.query('mutation ($id: ID!) { deleteAgent(id: $id) }', { id: agentId }), { deleteAgent: true });
});

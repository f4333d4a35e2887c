import test from 'ava';
import { ada, agentApp, inTenant } from './agent-app.ts';

const owner = inTenant(1);

test('a deleted agent is not found, listed or counted, and cannot be deleted again', async (t) => {
  const { app } = await agentApp(t);
  const kept = await app.createAgent(owner, { ...ada, name: 'Kept' });
  const { id } = await app.createAgent(owner, ada);
  await app.deleteAgent(owner, id);

  t.is(await app.findAgent(owner, id), undefined);
  const listed = await app.listAgents(owner, {});
  t.is(listed.length, 1);
  t.like(listed[0], kept);
  t.is(await app.countAgents(owner), 1);
  await t.throwsAsync(app.deleteAgent(owner, id), { message: `Agent ${id} not found` });
});

test('of ten concurrent deletions exactly one succeeds', async (t) => {
  const { app } = await agentApp(t);
  const { id } = await app.createAgent(owner, ada);
  const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => app.deleteAgent(owner, id)));
  t.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
});

test('a deleted agent stays readable for the mesh and other subgraphs, and so does its audit log', async (t) => {
  const { app } = await agentApp(t);
  const { id } = await app.createAgent(owner, ada);
  await app.updateAgent(owner, { id, input: { name: 'Grace' } });
  await app.deleteAgent(owner, id);

  t.like(await app.getAgent(owner, id), { id, name: 'Grace' });
  t.truthy((await app.getAgent(owner, id)).deletedAt);
  t.like(await app.agentsByIds(owner, [id]), { 0: { id, name: 'Grace' } });
  t.is((await app.listAuditLogs(owner, id)).length, 1);
});

test("another tenant's agents are not found in any operation", async (t) => {
  const { app } = await agentApp(t);
  const stranger = inTenant(2);
  const { id } = await app.createAgent(owner, ada);
  await app.updateAgent(owner, { id, input: { name: 'Grace' } });
  const notFound = { message: `Agent ${id} not found` };

  t.is(await app.findAgent(stranger, id), undefined);
  t.deepEqual(await app.listAgents(stranger, {}), []);
  t.is(await app.countAgents(stranger), 0);
  t.deepEqual(await app.agentsByIds(stranger, [id]), [undefined]);
  await t.throwsAsync(app.getAgent(stranger, id), notFound);
  await t.throwsAsync(app.listAuditLogs(stranger, id), notFound);
  await t.throwsAsync(app.deleteAgent(stranger, id), notFound);
  t.is((await app.findAgent(owner, id))?.name, 'Grace');
});

test('a hidden agent is found by id, but neither listed nor counted', async (t) => {
  const { app, database } = await agentApp(t);
  const { id } = await app.createAgent(owner, ada);
  await database.transact(1, async ({ knex }) => knex('agents').where({ id }).update({ hidden: true }));

  t.like(await app.findAgent(owner, id), { id });
  t.deepEqual(await app.listAgents(owner, {}), []);
  t.is(await app.countAgents(owner), 0);
});

test('agents are listed by id, optionally in pages, and bad bounds are refused', async (t) => {
  const { app } = await agentApp(t);
  const ids: number[] = [];
  for (let made = 0; made < 5; made += 1) ids.push((await app.createAgent(owner, ada)).id);
  await app.updateAgent(owner, { id: ids[0] ?? 0, input: { name: 'Touched last' } });
  const listed = async (page: { first?: number; after?: number }) =>
    (await app.listAgents(owner, page)).map(({ id }) => id);

  t.deepEqual(await listed({}), ids);
  t.deepEqual(await listed({ first: 2 }), ids.slice(0, 2));
  t.deepEqual(await listed({ first: 2, after: ids[1] ?? 0 }), ids.slice(2, 4));
  t.deepEqual(await listed({ after: ids[3] ?? 0 }), ids.slice(4));
  t.deepEqual(await listed({ after: 2_147_483_647 }), []);
  for (const page of [{ first: 0 }, { first: -1 }, { after: -1 }]) {
    t.like(await t.throwsAsync(app.listAgents(owner, page)), {
      kind: 'invalid',
      fields: [{ path: Object.keys(page)[0] }],
    });
  }
});

test('the configuration options have models, voices and links', async (t) => {
  const { app } = await agentApp(t);
  const { avatarModels, recommendedTtsVoices, ...urls } = await app.configOptions(inTenant(1));

  t.is(avatarModels.find(({ gender }) => gender === 'FEMALE')?.filename, 'aria.glb');
  t.true(recommendedTtsVoices.some(({ languageCode }) => languageCode === 'en-US'));
  t.deepEqual(Object.keys(urls).sort(), ['lipsyncModuleDocsUrl', 'sttLanguageCatalogUrl', 'ttsVoiceCatalogUrl']);
  for (const url of Object.values(urls)) t.is(new URL(url).protocol, 'https:');
});

import test from 'ava';
import { ada, agentApp, inTenant } from './agent-app.ts';

const owner = inTenant(1);
const persona = {
  name: 'Max',
  personaPrompt: 'You are Max, a clerk of a lamp shop.',
  position: 'Clerk',
  useCase: 'SALES',
  voiceTier: '',
};

test('an identical persona is the same hidden agent, also at the same time; another one, or another tenant, has its own', async (t) => {
  const { app } = await agentApp(t);
  const resolved = await Promise.all(Array.from({ length: 5 }, () => app.resolveEmbedAgent(owner, { persona })));
  const ids = new Set<number | undefined>(resolved.map(({ agent }) => agent.id));
  t.is(ids.size, 1);
  t.like(resolved[0]?.agent, { ...persona, voiceTier: 'STANDARD', hidden: true, status: 'ACTIVE' });
  for (const other of [
    { ...persona, name: 'Moritz' },
    { ...persona, useCase: '' },
    { ...persona, voiceTier: 'WAVENET' },
  ]) {
    ids.add((await app.resolveEmbedAgent(owner, { persona: other })).agent.id);
  }
  ids.add((await app.resolveEmbedAgent(inTenant(2), { persona })).agent.id);
  t.is(ids.size, 5);
  // An omitted field is equal to its default, so this persona finds the same agent.
  const spelledOut = await app.resolveEmbedAgent(owner, { persona: { ...persona, voiceTier: 'STANDARD' } });
  t.is<number | undefined, number | undefined>(spelledOut.agent.id, resolved[0]?.agent.id);
});

test('a hidden agent is neither listed nor counted, but can be read', async (t) => {
  const { app } = await agentApp(t);
  const { agent } = await app.resolveEmbedAgent(owner, { persona });
  t.deepEqual(await app.listAgents(owner, {}), []);
  t.is(await app.countAgents(owner), 0);
  t.like(await app.findAgent(owner, agent.id), { name: 'Max' });
});

test('a hidden agent that was changed or deleted is no longer used for its persona', async (t) => {
  const { app } = await agentApp(t);
  const id = async () => (await app.resolveEmbedAgent(owner, { persona })).agent.id;
  const first = await id();
  await app.updateAgent(owner, { id: String(first), input: { openingGreeting: 'Hello' } });
  const second = await id();
  t.not(second, first);
  await app.deleteAgent(owner, String(second));
  t.not(await id(), second);
});

test('a persona that breaks the rules for agents is refused', async (t) => {
  const { app } = await agentApp(t);
  const error = await t.throwsAsync(app.resolveEmbedAgent(owner, { persona: { ...persona, personaPrompt: ' ' } }));
  t.like(error, { kind: 'invalid', fields: [{ path: 'input.personaPrompt' }] });
});

test('a tenant has a bounded number of hidden agents, also of personas that come at one time', async (t) => {
  const { app } = await agentApp(t, { maxHiddenAgents: 3 });
  const resolve = (n: number, caller = owner) =>
    app.resolveEmbedAgent(caller, { persona: { ...persona, name: `Max ${n}` } });
  const outcomes = await Promise.allSettled([1, 2, 3, 4, 5, 6].map((n) => resolve(n)));
  const made = outcomes.flatMap((outcome, index) =>
    outcome.status === 'fulfilled' ? [{ n: index + 1, id: outcome.value.agent.id }] : [],
  );
  t.is(made.length, 3);
  t.like(await t.throwsAsync(resolve(7)), {
    kind: 'invalid',
    reason: 'LIMIT_REACHED',
    message: 'A tenant has at most 3 agents of personas; delete some, or give the agentId of one',
  });
  for (const { n, id } of made) t.is((await resolve(n)).agent.id, id, 'one that is there goes on');
  t.truthy((await resolve(7, inTenant(2))).agent, 'another tenant has its own');
  await app.createAgent(owner, ada);
  await app.deleteAgent(owner, String(made[0]?.id));
  t.truthy((await resolve(7)).agent, 'a deleted one does not count');
});

test('an existing agent is resolved with its own settings, else those of its tenant and the platform', async (t) => {
  const { app } = await agentApp(t);
  const plain = await app.createAgent(owner, ada);
  t.deepEqual((await app.resolveEmbedAgent(owner, { agentId: plain.id })).avatar, {
    glb: 'aria.glb',
    gender: 'F',
    ttsVoice: 'en-us+f3',
    ttsLang: 'en-US',
    lipsyncLang: 'en',
    speakingRate: 1,
    vadThreshold: 0.5,
    hosted: undefined,
  });
  const avatarBackendConfig = { vendorAvatarId: 'anna', vendorAvatarModel: 'v2' };
  const own = await app.createAgent(owner, {
    ...ada,
    avatarGlb: 'leo.glb',
    avatarGender: 'M',
    ttsLang: 'de-DE',
    speakingRate: 0.5,
    vadThreshold: 0.75,
    avatarBackend: 'HOSTED_API',
    avatarBackendConfig,
  });
  t.deepEqual((await app.resolveEmbedAgent(owner, { agentId: own.id })).avatar, {
    glb: 'leo.glb',
    gender: 'M',
    ttsVoice: 'de+m3',
    ttsLang: 'de-DE',
    lipsyncLang: 'de',
    speakingRate: 0.5,
    vadThreshold: 0.75,
    hosted: avatarBackendConfig,
  });
  const spoken = { ...ada, ttsVoice: 'my voice', lipsyncLang: 'fi', ttsLang: 'English' };
  const named = await app.createAgent(owner, spoken);
  t.like((await app.resolveEmbedAgent(owner, { agentId: named.id })).avatar, {
    ttsVoice: 'my voice',
    lipsyncLang: 'fi',
    ttsLang: 'English',
  });
  t.like(await t.throwsAsync(app.resolveEmbedAgent(inTenant(2), { agentId: own.id })), { kind: 'notFound' });
});

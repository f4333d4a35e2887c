import test from 'ava';
import { createAgent, follow, readSession } from '../src/conversation.ts';
import { browserOf, documents, sdkStart } from '../src/embed.ts';
import { judgement } from '../src/scripted-model.ts';
import { stories } from '../src/stories.ts';

const story = stories(test);
const onEngines = stories(test, { on: 'processes' });

onEngines.each('a browser with nothing but a session token holds a conversation, which is judged', async (t, mesh) => {
  const ada = await mesh.person();
  const agentId = await createAgent(ada, { openingGreeting: 'Greet them for me.' });
  mesh.model.answer('Greet them for me.', { text: ['Good ', 'morning!'] });
  mesh.model.answer('What is a lease?', { text: 'A promise that ends.' });
  const server = await ada.withApiKey();
  const started = await sdkStart(server, { agentId, clientId: 'customer 7' });
  t.like(started, { agentId, avatarGlb: 'aria.glb', avatarGender: 'F', ttsLang: 'en-US', speakingRate: 1 });
  const { sessionId } = started;
  const browser = browserOf(server, started.avatarToken);
  const events = follow(t, browser, sessionId);
  t.true(
    await browser.value(documents.send, { input: { sessionId, text: 'What is a lease?', clientTurnId: 'first' } }),
  );
  const [greeting, reply] = await events.turns(2);
  t.like(greeting, { __typename: 'AiResponseEvent', turnIndex: 0, text: 'Good morning!', clientTurnId: null });
  t.like(reply, { __typename: 'AiResponseEvent', text: 'A promise that ends.', clientTurnId: 'first' });

  const ended = await browser.value<{ durationSeconds: number; evaluation: object | null }>(documents.end, {
    input: { sessionId },
  });
  t.like(ended, { sessionId });
  t.true(Number.isInteger(ended.durationSeconds) && ended.durationSeconds >= 0);
  const { score, recommendation, summary, strengths } = judgement;
  if (ended.evaluation) t.deepEqual(ended.evaluation, { score, recommendation, summary, strengths });
  const session = await readSession(ada, sessionId);
  t.like(session, { status: 'ENDED', clientExternalId: 'customer 7', agent: { id: agentId } });
  t.deepEqual(
    session.messages.map(({ turnIndex }) => turnIndex),
    [0, 1, 2],
  );
  const usage = await ada.value<{ breakdown: { operation: string; count: number }[] }>(
    '{ apiUsageSummary { breakdown { operation count } } }',
  );
  const counts = Object.fromEntries(usage.breakdown.map(({ operation, count }) => [operation, count]));
  t.like(counts, { greeting: 1, session: 1 });
});

story('a persona is served by a hidden agent, the same each time', async (t, mesh) => {
  const ada = await mesh.person();
  const server = await ada.withApiKey();
  const input = { personaPrompt: 'You are Max, a clerk of a lamp shop.', agentName: 'Max', position: 'Clerk' };
  const first = await sdkStart(server, input);
  const second = await sdkStart(server, input);
  t.is(second.agentId, first.agentId);
  t.not(second.sessionId, first.sessionId);
  const { agents, agentCount, agent } = await ada.query<{ agents: object[]; agentCount: number; agent: object }>(
    'query ($id: ID!) { agents { id } agentCount agent(id: $id) { name position useCase } }',
    { id: first.agentId },
  );
  t.deepEqual(agents, []);
  t.is(agentCount, 0);
  t.deepEqual(agent, { name: 'Max', position: 'Clerk', useCase: 'INTERVIEW' });
  t.like(await readSession(ada, first.sessionId), { agent: { id: first.agentId, name: 'Max' } });
});

story(
  "a session token acts in its own session alone, and another tenant's key starts nothing with this agent",
  async (t, mesh) => {
    const [ada, eve] = await Promise.all([mesh.person(), mesh.person()]);
    const agentId = await createAgent(ada);
    const server = await ada.withApiKey();
    const { avatarToken } = await sdkStart(server, { agentId });
    const browser = browserOf(server, avatarToken);
    const other = await sdkStart(server, { agentId });
    const foreign = await sdkStart(await eve.withApiKey(), { personaPrompt: 'You are Eve.' });
    for (const sessionId of [other.sessionId, foreign.sessionId, 2_147_483_647]) {
      const refusals = [
        await browser.refusal(documents.send, { input: { sessionId, text: 'Hi' } }),
        await browser.refusal(documents.end, { input: { sessionId } }),
      ];
      for (const { extensions } of refusals) t.is(extensions.code, 'FORBIDDEN');
    }
    const start = 'mutation ($input: SdkStartInput!) { sdkStart(input: $input) { sessionId } }';
    t.like(await (await eve.withApiKey()).refusal(start, { input: { agentId } }), {
      message: `Agent ${agentId} not found`,
      extensions: { code: 'NOT_FOUND' },
    });
  },
);

story(
  'a token is exchanged without any other credential, and the new one goes on in the same session',
  async (t, mesh) => {
    const ada = await mesh.person();
    const server = await ada.withApiKey();
    const { avatarToken, sessionId } = await sdkStart(server, { personaPrompt: 'You are Max.' });
    const anyone = mesh.visitor();
    const fresh = await anyone.value<{ avatarToken: string; expiresInMs: number }>(documents.refresh, {
      input: { avatarToken },
    });
    t.like(fresh, { sessionId, expiresInMs: 3_600_000 });
    t.true(
      await browserOf(server, fresh.avatarToken).value(documents.send, { input: { sessionId, text: 'Still here?' } }),
    );
    const refused = await anyone.refusal(documents.refresh, { input: { avatarToken: avatarToken.slice(0, -3) } });
    t.like(refused, { message: 'Invalid or expired avatar token', extensions: { code: 'UNAUTHENTICATED' } });
  },
);

story("the token of a tenant for its voice service is no session's", async (t, mesh) => {
  const ada = await mesh.person();
  const { sessionId } = await sdkStart(await ada.withApiKey(), { personaPrompt: 'You are Max.' });
  const token = await ada.value<string>('{ avatarToken }');
  const refused = await browserOf(ada, token).refusal(documents.send, { input: { sessionId, text: 'Hi' } });
  t.like(refused, { message: 'Invalid or expired avatar token', extensions: { code: 'UNAUTHENTICATED' } });
});

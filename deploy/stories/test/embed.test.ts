import test from 'ava';
import { createAction, restApi } from '../src/actions.ts';
import { createAgent, follow, readSession, startSession } from '../src/conversation.ts';
import { browserOf, documents, repliesOf, sdkStart } from '../src/embed.ts';
import { newProviderAccount, ticketFor } from '../src/identity-provider.ts';
import { judgement } from '../src/scripted-model.ts';
import { stories } from '../src/stories.ts';
import { createWorkflow, publishWorkflow } from '../src/workflows.ts';

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
  const [greeting, reply] = await repliesOf(events, 2);
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

story('a persona is always served by the same hidden agent', async (t, mesh) => {
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
  "a session token acts only in its own session, and another tenant's key cannot start a session with this agent",
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
  'a session token can be exchanged without another credential for a new one of the same session',
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

story("a tenant's token for the voice service is refused as a session token", async (t, mesh) => {
  const ada = await mesh.person();
  const { sessionId } = await sdkStart(await ada.withApiKey(), { personaPrompt: 'You are Max.' });
  const token = await ada.value<string>('{ avatarToken }');
  const refused = await browserOf(ada, token).refusal(documents.send, { input: { sessionId, text: 'Hi' } });
  t.like(refused, { message: 'Invalid or expired avatar token', extensions: { code: 'UNAUTHENTICATED' } });
});

story("once the identity is verified, a workflow knows it and calls actions in the user's name", async (t, mesh) => {
  const ada = await mesh.person();
  const server = await ada.withApiKey();
  const seen: (string | undefined)[] = [];
  const api = await restApi(t, ({ headers }, response) => {
    seen.push(headers.authorization);
    response.setHeader('content-type', 'application/json').end('{"balance": 12}');
  });
  const action = { url: `${api.url}/balance`, method: 'GET', credentialSource: 'SESSION_PARTNER_A' };
  const actionId = await createAction(ada, action);
  const draft = {
    version: 1,
    start: 'known',
    nodes: {
      known: { kind: 'condition', cases: [{ when: 'identity != null', next: 'balance' }], otherwise: 'stranger' },
      balance: { kind: 'action', actionId, args: {}, output: 'account', next: 'tell', onError: 'unlinked' },
      tell: { kind: 'response', text: '{{ identity.fullname }} has {{ variables.account.balance }}.', next: 'known' },
      unlinked: { kind: 'response', text: 'Link your account, {{ identity.fullname }}.', next: 'known' },
      stranger: { kind: 'response', text: 'Who are you?', next: 'known' },
    },
  };
  const workflowId = await createWorkflow(ada, { draft });
  await publishWorkflow(ada, workflowId);
  const agentId = await createAgent(ada);
  const attach =
    'mutation ($id: ID!, $workflowId: Int) { updateAgent(id: $id, input: { workflowId: $workflowId }) { id } }';
  await ada.query(attach, { id: agentId, workflowId });
  const { sessionId, avatarToken } = await sdkStart(server, { agentId });
  const browser = browserOf(server, avatarToken);
  const events = follow(t, browser, sessionId);
  await repliesOf(events, 1);
  const ask = async (turn: number) => {
    await browser.query(documents.send, { input: { sessionId, text: 'My balance?' } });
    return (await repliesOf(events, turn)).at(-1)?.text;
  };
  t.is(await ask(2), 'Who are you?');

  const person = newProviderAccount();
  const ticket = await ticketFor(mesh, person);
  t.like(await browser.value(documents.verify, { input: { sessionId, ticket } }), {
    sessionId,
    subject: person.subject,
    email: person.email,
    linkedProducts: [],
  });
  t.is(await ask(3), 'Link your account, Grace Hopper.');
  t.deepEqual(seen, []);
  t.like(await browser.refusal(documents.verify, { input: { sessionId, ticket } }), {
    extensions: { code: 'BAD_REQUEST', reason: 'TICKET_REFUSED' },
  });

  const inProduct = await ticketFor(mesh, { subject: 'partner-7' });
  const productTickets = [{ product: 'PARTNER_A', ticket: inProduct }];
  const again = { sessionId, ticket: await ticketFor(mesh, person), productTickets };
  t.like(await browser.value(documents.verify, { input: again }), { linkedProducts: ['PARTNER_A'] });
  t.is(await ask(4), 'Grace Hopper has 12.');
  t.deepEqual(seen, ['Bearer PARTNER_A token of partner-7']);
});

story("an API key lists the sessions and the usage of its own tenant's customers, page by page", async (t, mesh) => {
  const [ada, eve] = await Promise.all([mesh.person(), mesh.person()]);
  const agentId = await createAgent(ada);
  const server = await ada.withApiKey();
  const started = [];
  for (let each = 0; each < 3; each += 1) started.unshift(await sdkStart(server, { agentId, clientId: 'c-7' }));
  await startSession(ada, agentId);
  interface Page {
    edges: { cursor: string; node: { id: number; agent: object; messages: object[] } }[];
    pageInfo: { hasNextPage: boolean; endCursor: string };
    totalCount: number;
  }
  const first = await server.value<Page>(documents.ofCustomer, { id: 'c-7', first: 2 });
  const after = first.pageInfo.endCursor;
  const second = await server.value<Page>(documents.ofCustomer, { id: 'c-7', first: 2, after });
  t.deepEqual(
    [first, second].map(({ totalCount, pageInfo }) => [totalCount, pageInfo.hasNextPage]),
    [
      [3, true],
      [3, false],
    ],
  );
  t.is(first.edges[1]?.cursor, after);
  t.deepEqual(
    [...first.edges, ...second.edges].map(({ node }) => node.id),
    started.map(({ sessionId }) => sessionId),
  );
  t.like(first.edges[0]?.node, { status: 'ACTIVE', agent: { id: agentId, name: 'Maya' } });
  const usage = await server.value<{ sessionCount: number }>(documents.usage, { id: 'c-7' });
  t.like(usage, { externalCustomerId: 'c-7', sessionCount: 3 });

  const stranger = await eve.withApiKey();
  t.like(await stranger.value(documents.ofCustomer, { id: 'c-7' }), { edges: [], totalCount: 0 });
  t.like(await stranger.value(documents.usage, { id: 'c-7' }), {
    sessionCount: 0,
    tokensIn: 0,
    tokensOut: 0,
    costUsd: 0,
  });
  const stolen = await stranger.refusal(documents.ofCustomer, { id: 'c-7', after });
  t.like(stolen.extensions, { code: 'BAD_REQUEST', fields: [{ path: 'after', message: 'is no cursor of this list' }] });
});

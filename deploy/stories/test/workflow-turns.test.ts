import { readFileSync } from 'node:fs';
import { createGate } from '@parley/testing/gate';
import test, { type ExecutionContext } from 'ava';
import { createAction, restApi } from '../src/actions.ts';
import type { Client } from '../src/client.ts';
import {
  converse,
  createAgent,
  follow,
  interruptSession,
  readSession,
  sendMessage,
  startSession,
} from '../src/conversation.ts';
import { createKnowledgeBase, ingestText } from '../src/knowledge.ts';
import type { TestMesh } from '../src/mesh.ts';
import { stories } from '../src/stories.ts';
import {
  attachWorkflow,
  contentsOf,
  converseBy,
  createWorkflow,
  modelTag,
  publishWorkflow,
  runsOf,
  runTask,
  say,
  saying,
  textOf,
} from '../src/workflows.ts';

const story = stories(test);
const offlineStory = stories(test, { on: 'offline' });

const setDraft = 'mutation ($id: Int!, $draft: JSON!) { updateWorkflow(id: $id, input: { draft: $draft }) { id } }';

const returns = '# Returns\n\nLamps can be returned within 30 days of the purchase, in their original box.\n';
const orderOf = (number: string) => ({
  status: 'sent',
  trackingUrl: `https://example.com/parcels/${number}`,
  items: [{ count: 2, name: 'Lamp' }],
});

/** Creates the bot in services/agent/examples, with a knowledge base and an action that reads orders. */
async function supportBot(t: ExecutionContext, owner: Client) {
  const knowledgeBaseId = await createKnowledgeBase(owner);
  await ingestText(owner, knowledgeBaseId, returns);
  const api = await restApi(t, ({ path }, response) => {
    const number = /orders\/(\d+)/u.exec(path)?.[1] ?? '';
    response.setHeader('content-type', 'application/json').end(JSON.stringify(orderOf(number)));
  });
  const actionId = await createAction(owner, { url: `${api.url}/orders/{order}`, method: 'GET' });
  const file = new URL('../../../services/agent/examples/support-bot.json', import.meta.url);
  const bot = JSON.parse(readFileSync(file, 'utf8'));
  Object.assign(bot.nodes.answer, { knowledgeBaseId });
  Object.assign(bot.nodes.find_order, { actionId });
  const tag = modelTag(owner);
  bot.nodes.classify.instruction += `\n${tag}`;
  for (const node of [bot.nodes.answer, bot.nodes.ask_number]) node.system = `You work for a web shop.\n${tag}`;
  return { bot, api };
}

function scriptBot({ model }: TestMesh, unique: string) {
  model.judge(unique, ({ messages }) => {
    const last = JSON.stringify(messages.at(-1)).split('last message of the person').at(-1) ?? '';
    return { json: { label: /order/iu.test(last) ? 'order' : 'question' } };
  });
  model.answerOthers('Write the order number', (text) => ({ text: /\d{4,}/u.exec(text)?.[0] ?? 'NONE' }));
  model.answerOthers('Answer the customer', () => ({ text: 'Within 30 days.' }));
}

story(
  'the support bot answers from passages, asks for the order number, and shows a card with the result of an action',
  async (t, mesh) => {
    const ada = await mesh.person();
    const { bot, api } = await supportBot(t, ada);
    scriptBot(mesh, 'a web shop');
    const { sessionId, events, workflowId } = await converseBy(t, ada, bot);

    const answered = await say(ada, sessionId, events, 'Within how many days after the purchase can lamps come back?');
    t.is(textOf(answered), 'Within 30 days.');
    t.is(events.streamed(0), 'Within 30 days.');
    if (answered.__typename !== 'AiResponseEvent') return t.fail();
    t.deepEqual(
      answered.message.citations?.map(({ documentName }) => documentName),
      ['returns.md'],
    );
    t.is(textOf(await say(ada, sessionId, events, 'Where is my order?')), 'What is the number of your order?');
    t.is(textOf(await say(ada, sessionId, events, 'It is 4711.')), 'Order 4711 is sent.');
    t.is(api.seen.length, 1);

    t.like((await contentsOf(ada, sessionId)).at(-1), {
      kind: 'card',
      title: 'Order 4711',
      body: '2 × Lamp',
      buttons: [{ label: 'Track the parcel', url: 'https://example.com/parcels/4711' }, { label: 'Something else' }],
    });
    const runs = await runsOf(ada, sessionId);
    t.deepEqual(
      runs.map(({ version, status, trace }) => [version, status, trace.map(({ nodeId }) => nodeId)]),
      [
        [1, 'WAITING', ['ask_number', 'has_number', 'find_order', 'show_order']],
        [1, 'WAITING', ['classify', 'ask_number', 'has_number', 'want_number']],
        [1, 'WAITING', ['classify', 'answer', 'say_answer']],
      ],
    );
    const { messages } = await readSession(ada, sessionId);
    const cost = (all: { costUsd: number }[]) => Math.round(all.reduce((sum, { costUsd }) => sum + costUsd, 0) * 1e8);
    t.is(cost(messages), cost(runs));
    const [{ toolCalls } = { toolCalls: null }] = messages.slice(-1);
    t.deepEqual(
      toolCalls?.map(({ callId, name, status }) => [callId, name, status]),
      [['find_order#1', 'find_order', 'SUCCEEDED']],
    );

    const eve = await mesh.person();
    t.deepEqual(await runsOf(eve, sessionId), []);
    const task = { workflowId, input: { message: 'Where is order 4712?' } };
    const done = await ada.value<{ text: string; trace: { nodeId: string }[] }>(runTask, { input: task });
    t.is(done.text, 'Order 4712 is sent.');
    t.deepEqual(
      done.trace.map(({ nodeId }) => nodeId),
      ['classify', 'ask_number', 'has_number', 'find_order', 'show_order'],
    );
    t.is((await eve.refusal(runTask, { input: task })).extensions.code, 'NOT_FOUND');
  },
);

story(
  'a session keeps the version of its workflow, a draft runs only in tests, and failures have codes',
  async (t, mesh) => {
    const ada = await mesh.person();
    const workflowId = await createWorkflow(ada, { draft: saying('One.') });
    const agentId = await createAgent(ada, { openingGreeting: 'Never said' });
    await attachWorkflow(ada, agentId, workflowId);
    const { id: sessionId, messages } = await startSession(ada, agentId);
    t.deepEqual(messages, [], 'nothing is said where a workflow is attached');
    const events = follow(t, ada, sessionId);
    await events.opened();
    t.like(await say(ada, sessionId, events, 'hello'), {
      __typename: 'TurnFailedEvent',
      code: 'WORKFLOW_NOT_PUBLISHED',
    });
    t.is(textOf(await say(ada, sessionId, events, 'hello', true)), 'One.');
    await publishWorkflow(ada, workflowId);
    t.is(textOf(await say(ada, sessionId, events, 'hello')), 'One.');
    await ada.query(setDraft, { id: workflowId, draft: saying('Two.') });
    await publishWorkflow(ada, workflowId);
    t.is(textOf(await say(ada, sessionId, events, 'hello')), 'One.');
    const later = await startSession(ada, agentId);
    const laterEvents = follow(t, ada, later.id);
    await laterEvents.opened();
    t.is(textOf(await say(ada, later.id, laterEvents, 'hello')), 'Two.');

    const actionId = await createAction(ada, { url: 'http://localhost/orders' });
    const failing = {
      version: 1,
      start: 'act',
      nodes: {
        act: { kind: 'action', actionId, args: {}, output: 'done', next: 'say' },
        say: saying('Done.').nodes.say,
      },
    };
    const other = await converseBy(t, ada, failing);
    t.like(await say(ada, other.sessionId, other.events, 'hello'), {
      __typename: 'TurnFailedEvent',
      code: 'WORKFLOW_FAILED',
    });
    const [run] = await runsOf(ada, other.sessionId);
    t.like(run, { status: 'FAILED', failureCode: 'WORKFLOW_FAILED', costUsd: 0 });
    t.regex(run?.trace[0]?.error ?? '', /^[A-Z_]+: /u);
  },
);

story('a workflow can be interrupted like any reply, and the next message starts a new run', async (t, mesh) => {
  const ada = await mesh.person();
  const gate = createGate();
  mesh.model.answer('Write to me slowly about harbours', { text: 'one two three', beforeDelta: gate });
  const writing = {
    version: 1,
    start: 'write',
    nodes: {
      write: { kind: 'llm', prompt: '{{ message }}', output: 'text', next: 'say' },
      say: { kind: 'response', text: '{{ variables.text }}' },
    },
  };
  const { sessionId, events } = await converseBy(t, ada, writing);
  gate.release(2);
  await sendMessage(ada, sessionId, 'Write to me slowly about harbours');
  await events.until('it streams', ({ chunks }) => chunks.length > 0);
  t.true(await interruptSession(ada, sessionId));
  const [reply] = await events.turns(1);
  t.like(reply, { __typename: 'AiResponseEvent', interrupted: true });
  gate.open();
  mesh.model.answer('Write to me about harbours again', { text: 'All of it.' });
  t.is(textOf(await say(ada, sessionId, events, 'Write to me about harbours again')), 'All of it.');
  const runs = await runsOf(ada, sessionId);
  t.deepEqual(
    runs.map(({ status }) => status),
    ['ENDED', 'INTERRUPTED'],
  );
});

story('a turn of an agent without a workflow leaves no run, and testDraft has no effect', async (t, mesh) => {
  const ada = await mesh.person();
  mesh.model.answer('What about lighthouses without a plan?', { text: 'They shine.' });
  const { sessionId, events } = await converse(t, ada);
  t.is(textOf(await say(ada, sessionId, events, 'What about lighthouses without a plan?', true)), 'They shine.');
  t.deepEqual(await runsOf(ada, sessionId), []);
});

offlineStory(
  'without a model, the support bot still chooses routes, finds passages and asks questions',
  async (t, mesh) => {
    const ada = await mesh.person();
    const { bot } = await supportBot(t, ada);
    const { sessionId, events } = await converseBy(t, ada, bot);
    const answered = await say(ada, sessionId, events, 'A question about products: in which box do lamps have to be?');
    if (answered.__typename !== 'AiResponseEvent') return t.fail(JSON.stringify(answered));
    t.regex(answered.text, /original box/u);
    t.is(answered.message.citations?.length, 1);
    // The built-in model cannot extract fields, so the bot asks for the order number.
    t.is(textOf(await say(ada, sessionId, events, 'Where is my order?')), 'What is the number of your order?');
    const runs = await runsOf(ada, sessionId);
    t.true(runs.every(({ status, costUsd }) => status === 'WAITING' && costUsd === 0));
  },
);

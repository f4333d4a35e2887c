import test from 'ava';
import type { Client } from '../src/client.ts';
import { converse, createAgent, endSession, evaluated, follow, readSession, sendMessage } from '../src/conversation.ts';
import { createKnowledgeBase, ingestText } from '../src/knowledge.ts';
import type { Citation } from '../src/messages.ts';
import { messageOf } from '../src/scripted-model.ts';
import { stories } from '../src/stories.ts';

const story = stories(test);

const returns = `# Returns

Lamps can be returned within 30 days of the purchase, in their original box.

# Repairs

Broken switches are replaced free of charge in the workshop on Harbour Street.
`;
const setBases =
  'mutation ($id: ID!, $ids: [Int!]) { updateAgent(id: $id, input: { knowledgeBaseIds: $ids }) { knowledgeBaseIds } }';

async function baseWith(client: Client, text: string): Promise<number> {
  const id = await createKnowledgeBase(client);
  await ingestText(client, id, text);
  return id;
}

/** Asks an agent one question and returns its reply with citations. */
async function ask(
  client: Client,
  sessionId: number,
  events: Awaited<ReturnType<typeof converse>>['events'],
  text: string,
) {
  const before = events.ended.length;
  await sendMessage(client, sessionId, text);
  const reply = (await events.turns(before + 1)).at(-1);
  if (reply?.__typename !== 'AiResponseEvent') throw new Error(JSON.stringify(reply));
  return { reply, citations: reply.message.citations };
}

const cites = (citations: Citation[] | null) => citations?.map(({ documentName }) => documentName);

story('an agent with a knowledge base receives passages, and its reply cites them', async (t, mesh) => {
  const ada = await mesh.person();
  const base = await baseWith(ada, returns);
  const question = 'How many days after the purchase can lamps be returned?';
  mesh.model.answer(question, { text: 'Within 30 days.' });
  const { sessionId, events, agentId } = await converse(t, ada, { knowledgeBaseIds: [base] });
  t.deepEqual(await ada.value('query ($id: ID!) { agent(id: $id) { knowledgeBaseIds } }', { id: agentId }), {
    knowledgeBaseIds: [base],
  });
  const { reply, citations } = await ask(ada, sessionId, events, question);
  t.is(reply.text, 'Within 30 days.');
  t.deepEqual(new Set(cites(citations)), new Set(['returns.md']));
  t.regex(citations?.map(({ preview }) => preview).join('\n') ?? '', /within 30 days of the purchase/u);
  for (const { score, preview, chunkIndex, documentId } of citations ?? []) {
    t.true(score >= -1 && score <= 1 && [...preview].length <= 300 && chunkIndex >= 0 && documentId > 0);
  }

  const [request] = mesh.model.requestsFor(question);
  const sent = JSON.stringify(request?.body.messages);
  t.true(sent.includes('within 30 days of the purchase'));
  t.true(sent.includes('quoted data'));
  t.is(request && messageOf(request.body), question);

  const { messages } = await readSession(ada, sessionId);
  t.deepEqual(
    messages.map((message) => message.citations),
    [null, citations],
  );
  const replayed = follow(t, ada, sessionId);
  const [again] = await replayed.turns(1);
  t.deepEqual(again, reply);

  await endSession(ada, sessionId);
  const { transcript } = await evaluated(ada, sessionId);
  t.deepEqual(
    transcript.map(({ text }) => text),
    [question, 'Within 30 days.'],
  );
});

story(
  "saving an agent with another tenant's knowledge base is refused as not found, and the agent keeps its own bases",
  async (t, mesh) => {
    const [ada, eve] = await Promise.all([mesh.person(), mesh.person()]);
    const [own, foreign] = await Promise.all([baseWith(ada, returns), baseWith(eve, returns)]);
    const id = await createAgent(ada, { knowledgeBaseIds: [own] });
    for (const ids of [[foreign], [own, foreign], [2_147_483_647]]) {
      const { extensions } = await ada.refusal(setBases, { id, ids });
      t.like(extensions, { code: 'NOT_FOUND', statusCode: 404 });
    }
    await t.throwsAsync(createAgent(ada, { knowledgeBaseIds: [foreign] }), { message: /NOT_FOUND/u });
    t.deepEqual(await ada.value('query ($id: ID!) { agent(id: $id) { knowledgeBaseIds } }', { id }), {
      knowledgeBaseIds: [own],
    });
    t.deepEqual(await ada.value(setBases, { id, ids: null }), { knowledgeBaseIds: null });
    const { changes } =
      (await ada.value<{ changes: object }[]>('query ($id: ID!) { agentAuditLogs(id: $id) { changes } }', { id }))[0] ??
      t.fail();
    t.deepEqual(changes, { knowledgeBaseIds: { from: [own], to: null } });
  },
);

story('a deleted knowledge base is ignored, and earlier citations stay', async (t, mesh) => {
  const ada = await mesh.person();
  const base = await baseWith(ada, returns);
  const { sessionId, events, agentId } = await converse(t, ada, { knowledgeBaseIds: [base] });
  const first = await ask(ada, sessionId, events, 'Where in the town are broken switches of lamps replaced?');
  t.deepEqual(new Set(cites(first.citations)), new Set(['returns.md']));

  t.true(await ada.value('mutation ($id: Int!) { deleteKnowledgeBase(id: $id) }', { id: base }));
  const second = await ask(ada, sessionId, events, 'Where in the city are damaged switches of lamps replaced?');
  t.deepEqual(second.citations, []);
  t.deepEqual(
    (await readSession(ada, sessionId)).messages.map(({ citations }) => citations),
    [null, first.citations, null, []],
  );
  t.deepEqual(await ada.value(setBases, { id: agentId, ids: [base] }), { knowledgeBaseIds: [base] }, 'as it was');
  t.is(
    (
      await ada.refusal(
        'mutation ($ids: [Int!]) { createAgent(input: { name: "A", personaPrompt: "B", position: "C", knowledgeBaseIds: $ids }) { id } }',
        { ids: [base] },
      )
    ).extensions.code,
    'NOT_FOUND',
  );
});

story('an agent without knowledge bases cites nothing', async (t, mesh) => {
  const ada = await mesh.person();
  await baseWith(ada, returns);
  const { sessionId, events } = await converse(t, ada);
  const { citations } = await ask(ada, sessionId, events, 'Can lamps be returned at all?');
  t.is(citations, null);
});

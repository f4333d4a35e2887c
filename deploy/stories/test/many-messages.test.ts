import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { converse, readSession, sendMessage } from '../src/conversation.ts';
import { idsGrow } from '../src/session-events.ts';
import { stories } from '../src/stories.ts';

const story = stories(test, { on: 'processes' });

story('ten concurrent messages to one session get ten replies, each its own, in order', async (t, mesh) => {
  const ada = await mesh.person();
  const { sessionId, events } = await converse(t, ada);
  const asked = Array.from({ length: 10 }, (_, n) => `Question ${n} of ten`);
  const gate = createGate();
  for (const text of asked) mesh.model.answer(text, { text: `Answer to: ${text}`, beforeHeaders: gate });

  const sent = Promise.all(asked.map((text, n) => sendMessage(ada, sessionId, text, `turn ${n}`)));
  await sent;
  const waiting = await readSession(ada, sessionId);
  t.deepEqual(
    waiting.messages.map(({ role, turnIndex }) => `${turnIndex} ${role}`),
    asked.map((_, n) => `${n} USER`),
    'all ten are taken before the first is answered',
  );
  gate.open();
  const ended = await events.turns(10);

  t.true(ended.every(({ __typename }) => __typename === 'AiResponseEvent'));
  t.deepEqual(
    ended.map(({ turnIndex }) => turnIndex),
    asked.map((_, n) => n),
  );
  const textOf = new Map(waiting.messages.map(({ turnIndex, text }) => [turnIndex, text]));
  for (const reply of events.replies) {
    const question = textOf.get(reply.turnIndex);
    t.is(reply.text, `Answer to: ${question}`);
    t.is(reply.clientTurnId, `turn ${asked.indexOf(question ?? '')}`);
    t.is(events.streamed(reply.turnIndex), reply.text);
  }
  t.true(idsGrow(events.all));
  const { messages } = await readSession(ada, sessionId);
  t.deepEqual(
    messages.map(({ turnIndex }) => turnIndex),
    Array.from({ length: 20 }, (_, n) => n),
  );
});

story(
  'the model receives one message of a session at a time, with the conversation so far and no waiting messages',
  async (t, mesh) => {
    const ada = await mesh.person();
    const { sessionId, events } = await converse(t, ada);
    const asked = ['First of three', 'Second of three', 'Third of three'];
    const gate = createGate();
    for (const text of asked) mesh.model.answer(text, { text: `Re: ${text}`, beforeHeaders: gate });
    for (const text of asked) await sendMessage(ada, sessionId, text);
    const { server, requestsFor } = mesh.model;
    const requests = () => asked.flatMap((text) => requestsFor(text));

    for (const [n, text] of asked.entries()) {
      await server.until(() => requestsFor(text).length > 0);
      t.is(requests().length, n + 1);
      gate.release();
      await events.turns(n + 1);
    }
    const histories = requests().map(({ body }) =>
      body.messages.filter(({ role }) => role !== 'system').map(({ content }) => content),
    );
    t.deepEqual(histories, [
      [asked[0]],
      [asked[0], `Re: ${asked[0]}`, asked[1]],
      [asked[0], `Re: ${asked[0]}`, asked[1], `Re: ${asked[1]}`, asked[2]],
    ]);
  },
);

story('sessions do not wait for each other', async (t, mesh) => {
  const ada = await mesh.person();
  const gate = createGate();
  mesh.model.answer('Hold this session.', { beforeHeaders: gate });
  const [held, free] = [await converse(t, ada), await converse(t, ada)];
  await sendMessage(ada, held.sessionId, 'Hold this session.');
  const { server } = mesh.model;
  await server.until(() => server.requests.some(({ body }) => JSON.stringify(body).includes('Hold this session.')));
  await sendMessage(ada, free.sessionId, 'And this one?');
  t.is((await free.events.turns(1))[0]?.__typename, 'AiResponseEvent');
  t.deepEqual(held.events.ended, []);
  gate.open();
  t.is((await held.events.turns(1))[0]?.__typename, 'AiResponseEvent');
});

import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test, { type ExecutionContext } from 'ava';
import { converse, endSession, evaluated, interruptSession, readSession, sendMessage } from '../src/conversation.ts';
import type { TestMesh } from '../src/mesh.ts';
import type { ScriptedModel } from '../src/scripted-model.ts';
import { stories } from '../src/stories.ts';

const story = stories(test, { on: 'processes' });

/** Starts a session whose first turn has streamed `Half a ` and waits for the model. */
async function inMidTurn(t: ExecutionContext, { model, person }: TestMesh, asked: string) {
  const ada = await person();
  const beforeDelta = createGate();
  model.answer(asked, { text: ['Half a ', 'reply.'], beforeDelta });
  const conversation = await converse(t, ada);
  await sendMessage(ada, conversation.sessionId, asked, asked);
  beforeDelta.release();
  await conversation.events.until('half a reply', ({ chunks }) => chunks.length > 0);
  return { ...conversation, ada, beforeDelta };
}

async function modelIsCancelled({ requestsFor }: ScriptedModel, asked: string): Promise<void> {
  await eventually(`the model's request is cancelled: ${asked}`, () => requestsFor(asked)[0]?.state === 'cancelled');
}

story(
  'an interruption keeps the text so far and cancels the model request, and the next message is answered',
  async (t, mesh) => {
    const { ada, sessionId, events } = await inMidTurn(t, mesh, 'Interrupt me.');
    t.true(await interruptSession(ada, sessionId));
    const [reply] = await events.turns(1);
    t.like(reply, {
      __typename: 'AiResponseEvent',
      text: 'Half a ',
      interrupted: true,
      turnIndex: 0,
      clientTurnId: 'Interrupt me.',
      message: { text: 'Half a ', turnIndex: 1 },
    });
    await modelIsCancelled(mesh.model, 'Interrupt me.');
    t.is(events.streamed(0), 'Half a ');
    t.is((await readSession(ada, sessionId)).interruptCount, 1);

    await sendMessage(ada, sessionId, 'Go on.');
    const [, next] = await events.turns(2);
    t.like(next, { __typename: 'AiResponseEvent', turnIndex: 2, interrupted: false });
    const { messages } = await readSession(ada, sessionId);
    t.deepEqual(
      messages.map(({ turnIndex }) => turnIndex),
      [0, 1, 2, 3],
    );
  },
);

story('an interruption before the first word stores an empty reply', async (t, mesh) => {
  const ada = await mesh.person();
  mesh.model.answer('Interrupt me at once.', { beforeHeaders: createGate() });
  const { sessionId, events } = await converse(t, ada);
  await sendMessage(ada, sessionId, 'Interrupt me at once.');
  const { requestsFor, server } = mesh.model;
  await server.until(() => requestsFor('Interrupt me at once.').length === 1);
  t.true(await interruptSession(ada, sessionId));
  const [reply] = await events.turns(1);
  t.like(reply, { __typename: 'AiResponseEvent', text: '', interrupted: true });
  await modelIsCancelled(mesh.model, 'Interrupt me at once.');
});

story('an interruption without a running turn has no effect, but is counted', async (t, mesh) => {
  const ada = await mesh.person();
  const { sessionId, events } = await converse(t, ada);
  t.false(await interruptSession(ada, sessionId));
  await sendMessage(ada, sessionId, 'Hello.');
  t.like((await events.turns(1))[0], { __typename: 'AiResponseEvent', interrupted: false });
  t.false(await interruptSession(ada, sessionId));
  t.is((await readSession(ada, sessionId)).interruptCount, 2);
});

story('an interruption affects only the running turn; waiting turns are answered', async (t, mesh) => {
  const { ada, sessionId, events } = await inMidTurn(t, mesh, 'Interrupt me, not the next.');
  await sendMessage(ada, sessionId, 'The next.');
  t.true(await interruptSession(ada, sessionId));
  const [cut, next] = await events.turns(2);
  t.like(cut, { interrupted: true, turnIndex: 0 });
  t.like(next, { __typename: 'AiResponseEvent', interrupted: false, turnIndex: 1 });
});

story(
  'a session that ends during a turn keeps the partial reply, fails waiting turns, and reports its end last',
  async (t, mesh) => {
    const { ada, sessionId, events } = await inMidTurn(t, mesh, 'End me.');
    await sendMessage(ada, sessionId, 'I wait.', 'waiting one');
    await sendMessage(ada, sessionId, 'I wait too.', 'waiting two');
    const ended = await endSession(ada, sessionId);
    t.is(ended.status, 'ENDED');
    await events.sessionEnded();
    await modelIsCancelled(mesh.model, 'End me.');

    const terminal = events.ended.map((event) =>
      event.__typename === 'AiResponseEvent'
        ? { of: event.clientTurnId, text: event.text, interrupted: event.interrupted }
        : { of: event.clientTurnId, code: event.code },
    );
    t.deepEqual(terminal, [
      { of: 'End me.', text: 'Half a ', interrupted: true },
      { of: 'waiting one', code: 'SESSION_ENDED' },
      { of: 'waiting two', code: 'SESSION_ENDED' },
    ]);
    t.is(events.all.at(-1)?.__typename, 'SessionStatusEvent');
    t.is(mesh.model.requestsFor('I wait.').length, 0);

    const { messages } = await readSession(ada, sessionId);
    t.deepEqual(
      messages.map(({ role, text, turnIndex }) => `${turnIndex} ${role} ${text}`),
      ['0 USER End me.', '1 USER I wait.', '2 USER I wait too.', '3 MODEL Half a '],
    );
    const { transcript } = await evaluated(ada, sessionId);
    t.deepEqual(
      transcript.map(({ text }) => text),
      messages.map(({ text }) => text),
    );
  },
);

story('ten concurrent requests to end a session end it once, with one evaluation', async (t, mesh) => {
  const { ada, sessionId, events } = await inMidTurn(t, mesh, 'End me ten times.');
  const ends = await Promise.all(Array.from({ length: 10 }, () => endSession(ada, sessionId)));
  t.is(new Set(ends.map(({ status, endedAt }) => `${status} ${endedAt}`)).size, 1);
  await events.sessionEnded();
  const { id } = await evaluated(ada, sessionId);
  t.truthy(id);
  const statuses = events.all.filter(({ __typename }) => __typename === 'SessionStatusEvent');
  t.is(statuses.length, 2, 'ACTIVE, then ENDED');
});

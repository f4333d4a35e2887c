import { createGate } from '@parley/chassis/testing/gate';
import test from 'ava';
import {
  converse,
  createAgent,
  endSession,
  evaluated,
  findEvaluation,
  follow,
  readSession,
  sendMessage,
  startSession,
} from '../src/conversation.ts';
import { dataFolder } from '../src/mesh-process.ts';
import { startScriptedModel } from '../src/scripted-model.ts';
import { compareIds, idsGrow } from '../src/session-events.ts';

/** A killed mesh comes back, and its model stays the same server. */
async function mortalMesh(t: Parameters<typeof dataFolder>[0]) {
  const model = await startScriptedModel();
  t.teardown(() => model.server.stop());
  return { model, folder: await dataFolder(t, model.env) };
}

test('a turn that a kill cuts is answered once by the next start, and its subscriber hears the rest in order', async (t) => {
  const { model, folder } = await mortalMesh(t);
  const before = await folder.start();
  const ada = await before.person();
  const words = ['Once ', 'upon ', 'a time.'];
  const beforeDelta = createGate();
  model.answer('Tell me a story.', { text: words, beforeDelta });
  const { sessionId, events: first } = await converse(t, ada);
  await sendMessage(ada, sessionId, 'Tell me a story.', 'story');
  beforeDelta.release(2);
  await first.until('two words', () => first.streamed(0) === 'Once upon ');
  await before.kill();
  await first.until('the end of the socket', ({ closed }) => closed);
  model.answer('Tell me a story.', { text: words });

  const after = await folder.start();
  const again = after.visitor();
  again.tokens = ada.tokens;
  const second = follow(t, again, sessionId, first.lastEventId);
  const [reply] = await second.turns(1);
  t.like(reply, { __typename: 'AiResponseEvent', clientTurnId: 'story', turnIndex: 0, text: words.join('') });
  t.true(idsGrow([...first.all, ...second.all]));
  t.is(second.streamed(0), words.join(''), 'the chunks of the last attempt are the reply');
  t.true(second.chunks.every(({ attempt }) => attempt > 1));

  const { messages } = await readSession(again, sessionId);
  t.deepEqual(
    messages.map(({ role, text, turnIndex }) => `${turnIndex} ${role} ${text}`),
    ['0 USER Tell me a story.', '1 MODEL Once upon a time.'],
  );
  await sendMessage(again, sessionId, 'Another one.');
  await second.turns(2);
  t.deepEqual(
    (await readSession(again, sessionId)).messages.map(({ turnIndex }) => turnIndex),
    [0, 1, 2, 3],
  );
});

test('every acknowledged message has one reply or one failure after a kill among many turns', async (t) => {
  const { model, folder } = await mortalMesh(t);
  const before = await folder.start();
  const ada = await before.person();
  const agentId = await createAgent(ada);
  const asked = Array.from({ length: 30 }, (_, n) => `Message ${n}`);
  const gate = createGate();
  for (const text of asked) model.answer(text, { text: `Re: ${text}`, beforeHeaders: gate });
  const sessions = await Promise.all(Array.from({ length: 10 }, () => startSession(ada, agentId)));
  const acknowledged = new Map<string, number>();
  const sending = asked.map(async (text, n) => {
    const sessionId = sessions[n % sessions.length]?.id ?? 0;
    await sendMessage(ada, sessionId, text, text).then(
      () => acknowledged.set(text, sessionId),
      () => undefined, // the kill came first: whether it was taken is nobody's knowledge
    );
  });
  gate.release(4);
  await model.server.until(({ counts }) => counts.finished >= 4);
  await before.kill();
  await Promise.all(sending);
  t.true(acknowledged.size > 0);
  gate.open();

  const after = await folder.start();
  const again = after.visitor();
  again.tokens = ada.tokens;
  for (const { id } of sessions) {
    const of = [...acknowledged].flatMap(([text, sessionId]) => (sessionId === id ? [text] : []));
    const events = follow(t, again, id);
    await events.until('an end for each message', ({ ended }) =>
      of.every((text) => ended.some(({ clientTurnId }) => clientTurnId === text)),
    );
    const ends = events.ended.map(({ clientTurnId }) => clientTurnId);
    t.is(new Set(ends).size, ends.length, 'a turn ended twice');
    t.true(idsGrow(events.all));
    const { messages } = await readSession(again, id);
    t.deepEqual(
      messages.map(({ turnIndex }) => turnIndex),
      messages.map((_, n) => n),
    );
    for (const reply of events.replies) {
      t.is(messages[reply.turnIndex]?.text ?? null, reply.clientTurnId);
      t.is(reply.text, `Re: ${reply.clientTurnId}`);
      t.is(messages.filter(({ text }) => text === reply.text).length, 1);
    }
    await events.close();
  }
});

test('a session that ended right before a kill has exactly one evaluation', async (t) => {
  const { model, folder } = await mortalMesh(t);
  const before = await folder.start();
  const ada = await before.person();
  const { sessionId, events } = await converse(t, ada);
  await sendMessage(ada, sessionId, 'The last thing I say.');
  await events.turns(1);
  const gate = createGate();
  model.judge('The last thing I say.', { beforeHeaders: gate, json: { score: 1 } });
  await endSession(ada, sessionId);
  await before.kill();
  gate.open();
  model.judge('The last thing I say.', {
    json: { score: 61, summary: 'Judged after the kill.', strengths: [], weaknesses: [], recommendation: 'HOLD' },
  });

  const after = await folder.start();
  const again = after.visitor();
  again.tokens = ada.tokens;
  t.is((await readSession(again, sessionId)).status, 'ENDED');
  const evaluation = await evaluated(again, sessionId, 20_000);
  t.like(evaluation, { score: 61, summary: 'Judged after the kill.' });
  await endSession(again, sessionId);

  // A second death, and a start that finds nothing left to do.
  await after.kill();
  const third = await folder.start();
  const lastly = third.visitor();
  lastly.tokens = ada.tokens;
  t.deepEqual(await findEvaluation(lastly, sessionId), evaluation);
});

test('a kill while the judge thinks leaves one evaluation', async (t) => {
  const { model, folder } = await mortalMesh(t);
  const before = await folder.start();
  const ada = await before.person();
  const { sessionId, events } = await converse(t, ada);
  await sendMessage(ada, sessionId, 'Think about me.');
  await events.turns(1);
  model.judge('Think about me.', { beforeHeaders: createGate() });
  await endSession(ada, sessionId);
  await model.server.until(({ requests }) => requests.some(({ body }) => body.response_format));
  await before.kill();
  model.judge('Think about me.', {
    json: { score: 7, summary: 'Thought about.', strengths: [], weaknesses: [], recommendation: 'NO_HIRE' },
  });

  const after = await folder.start();
  const again = after.visitor();
  again.tokens = ada.tokens;
  t.like(await evaluated(again, sessionId, 20_000), { score: 7, summary: 'Thought about.' });
});

test('event ids never go back over a kill, and what was final before it is still told', async (t) => {
  const { folder } = await mortalMesh(t);
  const before = await folder.start();
  const ada = await before.person();
  const { sessionId, events } = await converse(t, ada, { openingGreeting: 'Hello again.' });
  await sendMessage(ada, sessionId, 'One.', 'one');
  await events.turns(1);
  await before.kill();

  const after = await folder.start();
  const again = after.visitor();
  again.tokens = ada.tokens;
  await sendMessage(again, sessionId, 'Two.', 'two');
  const replayed = follow(t, again, sessionId);
  await replayed.turns(2);
  t.true(idsGrow(replayed.all));
  const final = (all: typeof events.all) => all.filter(({ __typename }) => __typename !== 'AiResponseChunkEvent');
  t.deepEqual(final(replayed.all).slice(0, final(events.all).length), final(events.all));
  const [, two] = replayed.ended;
  t.true(two !== undefined && compareIds(events.lastEventId, two.eventId) < 0);
});

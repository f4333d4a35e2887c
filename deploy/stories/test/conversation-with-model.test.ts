import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { converse, endSession, evaluated, readSession, sendMessage } from '../src/conversation.ts';
import { judgement } from '../src/scripted-model.ts';
import { stories } from '../src/stories.ts';

const story = stories(test, { on: 'processes' });

story.each("a slow model's reply is streamed word by word, and stored as a whole", async (t, mesh) => {
  const ada = await mesh.person();
  const beforeDelta = createGate();
  mesh.model.answer('Say it slowly.', { text: ['Slow', 'ly it', ' comes.'], beforeDelta });
  const { sessionId, events } = await converse(t, ada);
  await sendMessage(ada, sessionId, 'Say it slowly.', 'slow');

  for (const streamed of ['Slow', 'Slowly it', 'Slowly it comes.']) {
    beforeDelta.release();
    await events.until(`"${streamed}"`, ({ chunks }) => chunks.map(({ text }) => text).join('') === streamed);
  }
  const [reply] = await events.turns(1);
  t.like(reply, { __typename: 'AiResponseEvent', clientTurnId: 'slow', text: 'Slowly it comes.', interrupted: false });

  await endSession(ada, sessionId);
  const evaluation = await evaluated(ada, sessionId);
  t.like(evaluation, judgement);
  t.deepEqual(
    evaluation.transcript.map(({ text }) => text),
    ['Say it slowly.', 'Slowly it comes.'],
  );
});

story('a subscriber that joins in the middle of a reply gets the rest of it', async (t, mesh) => {
  const ada = await mesh.person();
  const words = Array.from({ length: 60 }, (_, n) => `word${n} `);
  const beforeDelta = createGate();
  mesh.model.answer('Count for me.', { text: words, beforeDelta });
  const { sessionId, events } = await converse(t, ada);
  await sendMessage(ada, sessionId, 'Count for me.');
  beforeDelta.release(2);
  await events.until('two words', () => events.streamed(0) === 'word0 word1 ');

  const late = ada.subscribe(sessionId);
  t.teardown(() => late.close());
  for (let sent = 0; late.all.length === 0 && sent < 50; sent++) {
    const before = events.chunks.length;
    beforeDelta.release();
    await events.until('one more word', ({ chunks }) => chunks.length > before);
    // Only the first event shows that the subscription has started. On a busy machine, the start may take longer than the first fifty
    // words.
    const fromMs = performance.now();
    const isTime = () => late.all.length > 0 || performance.now() - fromMs > 200;
    await eventually('its first event, or time for the next word', isTime);
  }
  beforeDelta.open();
  const [reply] = await late.turns(1);
  await events.turns(1);
  t.false(late.streamed(0).includes('word0 '));
  t.deepEqual(late.all, events.all.slice(-late.all.length));
  t.is(reply?.__typename === 'AiResponseEvent' && reply.text, words.join(''));
});

story('characters of several bytes arrive whole even if packets split them', async (t, mesh) => {
  const ada = await mesh.person();
  const text = 'Grüße — 世界 👩‍🚀 and a last ascii word.';
  mesh.model.answer('Speak in pieces.', { text, deltas: 'character', packets: 'split-utf8' });
  const { sessionId, events } = await converse(t, ada);
  await sendMessage(ada, sessionId, 'Speak in pieces.');
  const [reply] = await events.turns(1);
  t.is(reply?.__typename === 'AiResponseEvent' && reply.text, text);
  t.is(events.streamed(0), text);
  t.true(events.chunks.every(({ text: chunk }) => chunk.isWellFormed() && !chunk.includes('\uFFFD')));
  t.is((await readSession(ada, sessionId)).messages[1]?.text, text);
});

for (const ending of ['cut', 'error-event', 'malformed'] as const) {
  story(
    `a stream that breaks after chunks (${ending}) fails its turn, and the next message is answered`,
    async (t, mesh) => {
      const ada = await mesh.person();
      const asked = `Break by ${ending}.`;
      mesh.model.answer(asked, { text: ['Half of ', 'a reply'], ending });
      const { sessionId, events } = await converse(t, ada);
      await sendMessage(ada, sessionId, asked, 'broken');
      const [failed] = await events.turns(1);
      t.like(failed, { __typename: 'TurnFailedEvent', code: 'MODEL_FAILED', clientTurnId: 'broken', turnIndex: 0 });
      t.is(events.streamed(0), 'Half of a reply');
      t.is(mesh.model.requestsFor(asked).length, 1, 'what was begun was asked for again');

      await sendMessage(ada, sessionId, 'And now?');
      const [, reply] = await events.turns(2);
      t.like(reply, { __typename: 'AiResponseEvent', turnIndex: 2 });
      const { messages } = await readSession(ada, sessionId);
      t.is(messages[1]?.text, 'Half of a reply', 'what was shown is kept');
      t.deepEqual(
        messages.map(({ role, turnIndex }) => `${turnIndex} ${role}`),
        ['0 USER', '1 MODEL', '2 USER', '3 MODEL'],
      );
    },
  );
}

story(
  'a model that answers no request fails the turn before any chunk, and clients do not see the cause',
  async (t, mesh) => {
    const ada = await mesh.person();
    mesh.model.answer('Are you there?', { status: 503, body: 'upstream-secret at 10.1.2.3' });
    const { sessionId, events } = await converse(t, ada);
    await sendMessage(ada, sessionId, 'Are you there?', 'unanswered');
    const [failed] = await events.turns(1);
    t.like(failed, { __typename: 'TurnFailedEvent', code: 'MODEL_UNAVAILABLE', clientTurnId: 'unanswered' });
    t.deepEqual(events.chunks, []);
    t.notRegex(JSON.stringify(events.all), /upstream-secret|10\.1\.2\.3/);
  },
);

story(
  'a judge whose responses do not match the schema is asked three times, then the offline judge takes over',
  async (t, mesh) => {
    const ada = await mesh.person();
    mesh.model.judge('Judge me badly.', { json: { score: 'high' } });
    const { sessionId, events } = await converse(t, ada);
    await sendMessage(ada, sessionId, 'Judge me badly.');
    await events.turns(1);
    await endSession(ada, sessionId);
    const { summary } = await evaluated(ada, sessionId);
    t.regex(summary, /offline/i);
    const asked = mesh.model.server.requests.filter(
      ({ body }) => body.response_format && JSON.stringify(body.messages).includes('Judge me badly.'),
    );
    t.is(asked.length, 3);
  },
);

story(
  'if a conversation is too long for the judge, only a part of it is judged, and the evaluation says so',
  async (t, mesh) => {
    const ada = await mesh.person();
    const takes = 4_000;
    const refusal = JSON.stringify({ error: { message: 'Too many tokens', code: 'context_length_exceeded' } });
    const said = `Judge all of this. ${'I have kept databases for years. '.repeat(250)}`;
    mesh.model.judge('Judge all of this.', ({ messages }) =>
      JSON.stringify(messages).length > takes ? { status: 400, body: refusal } : undefined,
    );
    const { sessionId, events } = await converse(t, ada);
    await sendMessage(ada, sessionId, said);
    await events.turns(1);
    await endSession(ada, sessionId);
    const { summary, transcript } = await evaluated(ada, sessionId);
    t.regex(
      summary,
      /^Judged from a shortened conversation.*: 2 of 2 messages were shown to it, 1 of them in part\. The scripted/,
    );
    t.is(transcript[0]?.text, said);
  },
);

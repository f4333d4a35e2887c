import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { converse, follow, sendMessage } from '../src/conversation.ts';
import { idsGrow, type SessionEvent } from '../src/session-events.ts';
import { stories } from '../src/stories.ts';

const story = stories(test, { on: 'processes' });

story(
  'a stream whose socket is destroyed during a turn resumes after the last event, with each chunk once',
  async (t, mesh) => {
    const ada = await mesh.person();
    const words = Array.from({ length: 40 }, (_, n) => `w${n} `);
    const beforeDelta = createGate();
    mesh.model.answer('A long story, please.', { text: words, beforeDelta });
    const { sessionId, events: first } = await converse(t, ada);
    await sendMessage(ada, sessionId, 'A long story, please.');
    beforeDelta.release(10);
    await first.until('ten words', () => first.streamed(0) === words.slice(0, 10).join(''));
    first.cut();
    await first.until('the cut', ({ closed }) => closed);

    beforeDelta.release(10); // streamed while nobody is subscribed
    const second = follow(t, ada, sessionId, first.lastEventId);
    await second.until('ten more words', () => second.streamed(0) === words.slice(10, 20).join(''));
    second.cut();
    await second.until('the cut', ({ closed }) => closed);

    beforeDelta.open(); // the rest, including the stored reply, is streamed while nobody is subscribed
    const third = follow(t, ada, sessionId, second.lastEventId);
    const [reply] = await third.turns(1);
    const all = [...first.all, ...second.all, ...third.all];
    t.true(idsGrow(all));
    t.is(reply?.__typename === 'AiResponseEvent' && reply.text, words.join(''));
    t.is(joined(all), words.join(''));
    t.is(all.filter(({ __typename }) => __typename === 'AiResponseEvent').length, 1);
    t.is(mesh.model.requestsFor('A long story, please.').length, 1, 'a lost socket repeated the reply');
  },
);

story('`after: "0"` replays the same stored events to every subscriber, and continues live', async (t, mesh) => {
  const ada = await mesh.person();
  const { sessionId, events } = await converse(t, ada, { openingGreeting: 'Welcome back.' });
  await sendMessage(ada, sessionId, 'One.');
  await events.turns(1);
  const late = follow(t, ada, sessionId, '0');
  await late.turns(1);
  t.deepEqual(late.all, events.all);
  t.deepEqual(
    late.all.slice(0, 2).map(({ __typename }) => __typename),
    ['SessionStatusEvent', 'AiResponseEvent'],
  );

  await sendMessage(ada, sessionId, 'Two.');
  await Promise.all([events.turns(2), late.turns(2)]);
  t.deepEqual(late.all, events.all);
});

story('a stream can be resumed after each of its events', async (t, mesh) => {
  const ada = await mesh.person();
  const { sessionId, events } = await converse(t, ada);
  await sendMessage(ada, sessionId, 'Say a few words.');
  await events.turns(1);
  const seen = [...events.all];
  for (const [n, { eventId }] of seen.slice(0, -1).entries()) {
    const rest = follow(t, ada, sessionId, eventId);
    await rest.until('the rest', ({ all }) => all.length >= seen.length - n - 1);
    t.deepEqual(rest.all, seen.slice(n + 1));
    await rest.close();
  }
});

story('a stream that is resumed after its last event waits for the next one', async (t, mesh) => {
  const ada = await mesh.person();
  const { sessionId, events } = await converse(t, ada);
  await sendMessage(ada, sessionId, 'One.');
  await events.turns(1);
  const resumed = follow(t, ada, sessionId, events.lastEventId);
  const seen = events.all.length;
  await sendMessage(ada, sessionId, 'Two.');
  await Promise.all([events.turns(2), resumed.turns(1)]);
  t.deepEqual(resumed.all, events.all.slice(seen));
});

for (const after of ['', 'yesterday', '1-', '-1', '1-2-3', '١-٢', '1-2 ', '99999999999999999999999-0', 'null']) {
  story(`a value of after that is not an event id is refused: ${JSON.stringify(after)}`, async (t, mesh) => {
    const ada = await mesh.person();
    const { sessionId } = await converse(t, ada);
    const events = follow(t, ada, sessionId, after);
    const errors = await events.until('the refusal', (seen) => seen.errors);
    t.is(errors.length, 1);
    t.like(errors[0]?.extensions, { code: 'BAD_REQUEST', statusCode: 400 });
    t.deepEqual(events.all, []);
    t.is(events.closed, undefined, 'one refused subscription closed the socket');
  });
}

function joined(events: readonly SessionEvent[]): string {
  return events.flatMap((event) => (event.__typename === 'AiResponseChunkEvent' ? [event.text] : [])).join('');
}

import test from 'ava';
import { streamOf } from '../src/session-log.ts';
import { called, finished, text } from './scripted-agent.ts';
import { inTenant, isCall, isReply, joinedChunks, replyOf, sessionMesh, subscribe } from './session-mesh.ts';

const start = { agentId: 1, clientExternalId: 'visitor' };

/** Field 1000 with a short message. To a reader, an unknown field looks the same as an unknown case of a oneof. */
const unknownField = Uint8Array.of(0xc2, 0x3e, 3, 0x08, 0x96, 0x01);

test('unknown events of a newer agent service are ignored', async (t) => {
  const { app, agent } = await sessionMesh(t);
  const newer = called('1.0', 'STARTED', { status: 99 as never });
  agent.script = async function* () {
    yield text(''); // a message with only unknown fields decodes to this
    yield text('Hello ');
    yield text('');
    yield newer;
    yield text('there');
    yield finished();
    yield text('');
  };
  const { id } = await app.startSession(inTenant(1), start);
  const subscriber = subscribe(t, app, id, { after: '0' });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'How are you?' });

  const reply = replyOf(await subscriber.until('the reply', isReply));
  t.like(reply, { text: 'Hello there', interrupted: false });
  t.is(joinedChunks(subscriber.events, 0), 'Hello there');
  t.false(subscriber.events.some(isCall));
});

test('unknown log entries of a newer replica are skipped by live and resumed subscriptions', async (t) => {
  const { app, eventLog } = await sessionMesh(t);
  const { id } = await app.startSession(inTenant(1), start);
  const live = subscribe(t, app, id, { after: '0' });
  await eventLog.append(streamOf({ tenantId: 1, id }), [unknownField]);
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'one' });
  await live.until('the reply', isReply);
  await eventLog.append(streamOf({ tenantId: 1, id }), [unknownField]);
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'two' });
  await live.until('the other reply', isReply, 2);

  const resumed = subscribe(t, app, id, { after: '0' });
  await resumed.until('both replies', isReply, 2);
  for (const { events } of [live, resumed]) {
    t.deepEqual(
      events.filter(isReply).map((event) => replyOf(event).text),
      ['Re: one', 'Re: two'],
    );
    t.true(events.every(({ kind }) => kind !== undefined));
  }
});

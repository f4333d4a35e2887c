import test from 'ava';
import { streamOf } from '../src/session-log.ts';
import { finished, text } from './scripted-agent.ts';
import { inTenant, isReply, joinedChunks, replyIn, sessionMesh, watch } from './session-mesh.ts';

const start = { agentId: 1, clientExternalId: 'visitor' };

/** Field 1000, as a message of a few bytes: to a reader that does not know it a field and a case of a oneof look the same. */
const unknownField = Uint8Array.of(0xc2, 0x3e, 3, 0x08, 0x96, 0x01);

test('parts of a reply that only a newer agent service knows are passed over', async (t) => {
  const { app, agent } = await sessionMesh(t);
  agent.script = async function* () {
    yield {}; // a case of the oneof that is not known here leaves nothing of itself
    yield text('Hello ');
    yield {};
    yield text('there');
    yield finished();
    yield {};
  };
  const { id } = await app.startSession(inTenant(1), start);
  const watching = watch(t, app, id, { after: '0' });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'How are you?' });

  const reply = replyIn(await watching.until('the reply', isReply));
  t.like(reply, { text: 'Hello there', interrupted: false });
  t.is(joinedChunks(watching.events, 0), 'Hello there');
});

test('what a newer replica writes into the event log is passed over by those who watch, and by those who resume', async (t) => {
  const { app, eventLog } = await sessionMesh(t);
  const { id } = await app.startSession(inTenant(1), start);
  const live = watch(t, app, id, { after: '0' });
  await eventLog.append(streamOf({ tenantId: 1, id }), [unknownField]);
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'one' });
  await live.until('the reply', isReply);
  await eventLog.append(streamOf({ tenantId: 1, id }), [unknownField]);
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'two' });
  await live.until('the other reply', isReply, 2);

  const resumed = watch(t, app, id, { after: '0' });
  await resumed.until('both replies', isReply, 2);
  for (const { events } of [live, resumed]) {
    t.deepEqual(
      events.filter(isReply).map((event) => replyIn(event).text),
      ['Re: one', 'Re: two'],
    );
    t.true(events.every(({ kind }) => kind !== undefined));
  }
});

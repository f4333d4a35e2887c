import test from 'ava';
import type { Client } from '../src/client.ts';
import {
  closedByServer,
  converse,
  createAgent,
  endSession,
  follow,
  sendMessage,
  startSession,
} from '../src/conversation.ts';
import { withCredentials } from '../src/credentials.ts';
import { stories } from '../src/stories.ts';

const story = stories(test, { on: 'processes' });

/** Adds a new API key to a signed-in client, like a server that forwards a person's access token. */
async function withBoth(client: Client): Promise<Client> {
  return Object.assign(await client.withApiKey(), { tokens: client.tokens, account: client.account });
}

story(
  'a subscription with only an API key is refused for its own and for absent sessions, and its socket stays open',
  async (t, mesh) => {
    const { person } = withCredentials(mesh);
    const [ada, eve] = await Promise.all([person(), person()]);
    const { id: own } = await startSession(ada, await createAgent(ada));
    const { id: foreign } = await startSession(eve, await createAgent(eve));
    const key = await ada.withApiKey();
    for (const id of [own, foreign, 900_000_001, -1, '99999999999', 'abc']) {
      const events = key.subscribe(id, { after: '0' });
      t.teardown(() => events.close());
      const errors = await events.until('the refusal', ({ errors }) => errors);
      t.is(errors.length, 1);
      t.like(errors[0]?.extensions, { code: 'UNAUTHENTICATED', statusCode: 401 }, String(id));
      t.deepEqual(events.all, [], String(id));
      t.is(events.closed, undefined, 'the key itself is good');
    }
  },
);

story(
  'while both are valid, a socket with an API key and an access token receives what the token may read',
  async (t, mesh) => {
    const { person, atSecond } = withCredentials(mesh);
    const [ada, eve] = await Promise.all([person(), person()]);
    const { id: foreign } = await startSession(eve, await createAgent(eve));
    const { sessionId } = await converse(t, ada);
    const old = await withBoth(ada);
    const elsewhere = Object.assign(atSecond(ada), { apiKey: old.apiKey });
    const sockets = [follow(t, old, sessionId), follow(t, elsewhere, sessionId)];
    await Promise.all(sockets.map((events) => events.opened()));
    await sendMessage(ada, sessionId, 'What is a lease?');
    for (const events of sockets) t.is((await events.turns(1))[0]?.__typename, 'AiResponseEvent');
    const [refused] = await follow(t, old, foreign).until('the refusal', ({ errors }) => errors);
    t.is(refused?.extensions.code, 'NOT_FOUND');

    const next = await withBoth(ada);
    await closedByServer(t, sockets);
    const late = follow(t, old, sessionId);
    t.is((await late.until('the refusal', ({ closed }) => closed)).code, 4403);
    t.deepEqual(late.all, []);

    // A stream that started with the old key can be resumed with the new one.
    const resumed = follow(t, next, sessionId, sockets[0]?.all[0]?.eventId);
    await resumed.turns(1);
    t.deepEqual(resumed.all, sockets[0]?.all.slice(1));
    await endSession(ada, sessionId);
    await resumed.sessionEnded();
  },
);

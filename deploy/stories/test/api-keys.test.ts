import { callerHeader, createCallers } from '@parley/kernel/caller';
import { SessionServiceDefinition } from '@parley/protos/parley/session/v1/session';
import test, { type ExecutionContext } from 'ava';
import { createChannel, createClient, Metadata } from 'nice-grpc';
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
import { type CredentialMesh, idsOf, withCredentials } from '../src/credentials.ts';
import { stories } from '../src/stories.ts';

const story = stories(test, { on: 'processes' });

/** Shows a new API key of theirs beside their access token, as a server does that serves signed-in people. */
async function withBoth(client: Client): Promise<Client> {
  return Object.assign(await client.withApiKey(), { tokens: client.tokens, account: client.account });
}

/** The session service as the gateway calls it for the holder of an API key. */
async function sessionServiceFor(
  t: ExecutionContext,
  { addresses, meshKey }: CredentialMesh,
  apiKey: { apiKeyId: number; tenantId: number },
) {
  const [address = ''] = addresses('session', 'rpc');
  const channel = createChannel(address);
  t.teardown(() => channel.close());
  const service = createClient(SessionServiceDefinition, channel);
  const over = new AbortController();
  t.teardown(() => over.abort());
  return async function* watch(sessionId: number, after: string) {
    const caller = { kind: 'apiKey' as const, ...apiKey, requestId: 'test' };
    const metadata = Metadata({ [callerHeader]: await createCallers(meshKey).mint(caller, 'session') });
    const request = { sessionId, after };
    for await (const { event } of service.watchSession(request, { metadata, signal: over.signal })) {
      if (event) yield { eventId: event.eventId, kind: event.kind?.$case };
    }
  };
}

story(
  'an API key alone subscribes to no session, be it its own or an absent one, and its socket stays open',
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
  'a socket with an API key and an access token receives what the token may read, while both are valid',
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

    // A stream begun under the old key is resumed under the new one.
    const resumed = follow(t, next, sessionId, sockets[0]?.all[0]?.eventId);
    await resumed.turns(1);
    t.deepEqual(resumed.all, sockets[0]?.all.slice(1));
    await endSession(ada, sessionId);
    await resumed.sessionEnded();
  },
);

story(
  'a new API key of a tenant receives the events that the old one received, and none of another tenant',
  async (t, mesh) => {
    const { person } = withCredentials(mesh);
    const [ada, eve] = await Promise.all([person(), person()]);
    const [{ tenantId }, stranger] = [await idsOf(ada), await idsOf(eve)];
    const { sessionId, events } = await converse(t, ada);
    await sendMessage(ada, sessionId, 'What is a lease?');
    await events.turns(1);
    await endSession(ada, sessionId);
    await events.sessionEnded();

    const received = async (apiKey: { apiKeyId: number; tenantId: number }, id: number, after: string) => {
      const watch = await sessionServiceFor(t, withCredentials(mesh), apiKey);
      const all: { eventId: string; kind: string | undefined }[] = [];
      for await (const event of watch(id, after)) {
        all.push(event);
        if (event.eventId === events.lastEventId) break;
      }
      return all.map(({ eventId }) => eventId);
    };
    const ids = events.all.map(({ eventId }) => eventId);
    t.deepEqual(await received({ apiKeyId: 1, tenantId }, sessionId, '0'), ids);
    t.deepEqual(await received({ apiKeyId: 2, tenantId }, sessionId, ids[1] ?? ''), ids.slice(2));
    const foreign = { apiKeyId: 1, tenantId: stranger.tenantId };
    for (const id of [sessionId, 900_000_001, -1]) {
      await t.throwsAsync(received(foreign, id, '0'), { message: /NOT_FOUND/ }, String(id));
    }
  },
);

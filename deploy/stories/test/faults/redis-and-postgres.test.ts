// Kills Redis and stops PostgreSQL. At full length, this file has its own mesh.
import { setTimeout as delay } from 'node:timers/promises';
import { serverTest } from '@parley/servers/testing/server-test';
import { eventually } from '@parley/testing/eventually';
import { schemas } from '@parley/units';
import test from 'ava';
import { type Answer, Client } from '../../src/client.ts';
import { createAgent, endSession, readSession, sendMessage, startSession } from '../../src/conversation.ts';
import { idsGrow, type SessionEvents } from '../../src/session-events.ts';
import { type FaultMesh, fullLength, meshEngines, sharedFaultMesh } from './fault-mesh.ts';
import { holdTurns } from './held-turns.ts';
import { reader } from './reader.ts';
import { during, seconds, traffic } from './traffic.ts';

const turnsInFlight = fullLength ? 200 : 12;
const redisAwayMs = fullLength ? 20_000 : 5_000;
const postgresAwayMs = fullLength ? 10_000 : 3_000;
/** The pause of each client between conversations. Without it, clients would repeat refused requests in a busy loop. */
const betweenTalksMs = 50;
/** Units must work again within this time after PostgreSQL is back. */
const backWithinMs = 5_000;

const shared = sharedFaultMesh(test);

const pids = ({ replicas, pid }: FaultMesh) => replicas.map(({ name }) => pid(name));
const codeOf = ({ errors }: Answer<unknown>) => errors?.[0]?.extensions.code ?? 'OK';
/** Logs in from an address that was not used before, because each address is limited to ten attempts a minute. */
const login = (client: Client) =>
  new Client(client.url).send('mutation ($input: SignInInput!) { login(input: $input) { accessToken } }', {
    input: { email: client.account?.email, password: client.account?.password },
  });
const isRegisterable = (client: Client) => client.send('{ isRegisterable(email: "somebody@example.com") }');

serverTest(
  meshEngines,
  'when Redis is killed and emptied during turns, no process ends, password guesses are refused, and no reply is lost',
  async (t) => {
    t.timeout(300_000);
    const mesh = await shared();
    const redis = mesh.servers.server('redis');
    const before = pids(mesh);
    const { turns, release } = await holdTurns(mesh, turnsInFlight);
    const someone = await mesh.person();
    const documents = await reader(mesh);
    // Half of the followers stay connected during the outage; the others reconnect after it with their last event id.
    const followers: { events: SessionEvents; client: Client; sessionId: number; reply: string }[] = [];
    t.teardown(() => Promise.all(followers.map(({ events }) => events.close())));
    for (const { client, sessionId, reply } of turns.slice(0, 20)) {
      const events = client.subscribe(sessionId, { after: '0', timeoutMs: 60_000 });
      followers.push({ events, client, sessionId, reply });
      await events.until('the first words', ({ chunks }) => chunks.length > 0);
    }
    const leaving = followers.slice(followers.length / 2);
    for (const { events } of leaving) events.cut();
    const degraded = async () =>
      (await mesh.metric('gateway-1', 'parley_throttle_degraded_total')) +
      (await mesh.metric('gateway-2', 'parley_throttle_degraded_total'));
    const degradedBefore = await degraded();

    await redis.kill();
    redis.clear();
    const tries = await Promise.all(Array.from({ length: 12 }, () => login(someone)));
    t.deepEqual([...new Set(tries.map(codeOf))], ['UNAVAILABLE']);
    // Without Redis, each of the two gateways counts only its own requests, and allows five per minute.
    const asked = await Promise.all(Array.from({ length: 12 }, () => isRegisterable(someone)));
    const answered = asked.filter((answer) => codeOf(answer) === 'OK').length;
    t.true(answered >= 5 && answered <= 10, `${answered} answered`);
    t.deepEqual(new Set(asked.map(codeOf)), new Set(['OK', 'TOO_MANY_REQUESTS']));
    t.true((await degraded()) >= degradedBefore + 24);
    release();
    const agentId = await createAgent(someone);
    await during(redisAwayMs, async () => {
      const { id } = await startSession(someone, agentId);
      await sendMessage(someone, id, `Without Redis, in session ${id}`);
      await endSession(someone, id);
    });
    await documents.readAndUpload(t);

    await redis.start();
    const back = performance.now();
    await eventually('sign-in works again', async () => codeOf(await login(someone)) === 'OK');
    t.log(`sign-in works ${seconds(performance.now() - back)} after the return of Redis`);
    for (const { client, sessionId, reply } of turns) {
      const read = async () => {
        const [, message] = (await readSession(client, sessionId)).messages;
        return message?.text === reply;
      };
      await eventually(`the reply in session ${sessionId}`, read, { timeoutMs: 60_000 });
    }
    for (const { events, client, sessionId, reply } of followers) {
      const again = leaving.some((each) => each.events === events);
      const seen = again ? client.subscribe(sessionId, { after: events.lastEventId, timeoutMs: 60_000 }) : events;
      t.teardown(() => seen.close());
      await seen.turns(1);
      t.deepEqual(
        seen.replies.map(({ text }) => text),
        [reply],
      );
      t.true(idsGrow(again ? [...events.all, ...seen.all] : seen.all));
      await mesh.ledger.end(client, sessionId);
      await seen.sessionEnded();
    }
    for (const { client, sessionId } of turns.slice(20)) await mesh.ledger.end(client, sessionId);
    await documents.assertRead(t);
    t.deepEqual(await mesh.settled(), []);
    t.deepEqual(pids(mesh), before);
  },
);

serverTest(
  meshEngines,
  'while PostgreSQL is stopped, requests are refused as UNAVAILABLE, and started work is committed or rolled back',
  async (t) => {
    t.timeout(300_000);
    const mesh = await shared();
    const postgres = mesh.servers.server('postgres');
    const before = pids(mesh);
    const { turns, release } = await holdTurns(mesh, turnsInFlight);
    const talkers = await Promise.all(Array.from({ length: 4 }, () => traffic(mesh)));
    const { client, sessionIds } = talkers[0] ?? (await traffic(mesh));
    const over = new AbortController();
    t.teardown(() => over.abort());
    const sessionId = await talkers[0]?.talk();
    const talking = talkers.map(async ({ talk }) => {
      // The start of a conversation may be refused. Once it has started, its message and its end are retried until they succeed.
      while (!over.signal.aborted) {
        await talk().catch(() => undefined);
        await delay(betweenTalksMs);
      }
    });
    const withData = mesh.replicas
      .filter(({ unit }) => schemas.some(({ name }) => name === unit))
      .map(({ name }) => name);
    const whenReady = (ready: boolean) =>
      Promise.all(
        withData.map((name) =>
          eventually(`${name} is ${ready ? '' : 'not '}ready`, async () => (await mesh.isReady(name)) === ready),
        ),
      );
    const codes = new Map<string, number>();

    await postgres.stop();
    const stopped = performance.now();
    release();
    await whenReady(false);
    for (const { name } of mesh.replicas) t.is((await mesh.ops(name, '/healthz')).status, 200);
    t.is(codeOf(await login(client)), 'UNAVAILABLE');
    await during(postgresAwayMs - (performance.now() - stopped), async () => {
      const answers = await Promise.all([
        client.send('query ($id: ID!) { session(id: $id) { id } }', { id: sessionId }),
        client.send('{ agentCount }'),
        client.send('mutation ($sessionId: ID!) { endSession(sessionId: $sessionId) { id } }', { sessionId }),
      ]);
      for (const code of answers.map(codeOf)) codes.set(code, (codes.get(code) ?? 0) + 1);
    });
    t.deepEqual([...codes.keys()], ['UNAVAILABLE']);

    await postgres.start();
    const back = performance.now();
    await whenReady(true);
    await eventually('it is read again', async () => codeOf(await client.send('{ agentCount sessionCount }')) === 'OK');
    const tookMs = performance.now() - back;
    t.log(`${codes.get('UNAVAILABLE')} requests refused, all back ${seconds(tookMs)} after the return of PostgreSQL`);
    t.true(tookMs < backWithinMs);
    const count = sessionIds.length;
    await eventually('conversations go on', () => sessionIds.length > count);
    over.abort();
    await Promise.all(talking);
    for (const { client: owner, sessionId: id } of turns) await mesh.ledger.end(owner, id);
    t.deepEqual(await mesh.settled({ timeoutMs: 120_000 }), []);
    t.deepEqual(pids(mesh), before);
  },
);

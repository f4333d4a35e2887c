// Publishes events that no consumer can handle, which stay in their topics. At full length, this file has its own mesh.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Envelope } from '@parley/events/envelope';
import { kafkaDeadLetters, readTopic } from '@parley/events/kafka-dead-letters';
import { toMessage } from '@parley/events/kafka-message';
import { kafkaProducer } from '@parley/events/kafka-producer';
import { openDatabase } from '@parley/postgres/database/open';
import { once } from '@parley/postgres/outbox/inbox';
import { SessionEnded } from '@parley/protos/parley/session/v1/events';
import { exec } from '@parley/servers/exec';
import { root } from '@parley/servers/root';
import { serverTest } from '@parley/servers/testing/server-test';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import { schemas } from '@parley/units';
import test from 'ava';
import { createAgent, endSession, evaluated, startSession } from '../../src/conversation.ts';
import { type FaultMesh, meshEngines, sharedFaultMesh } from './fault-mesh.ts';
import { seconds, traffic } from './traffic.ts';

const poisonedTopic = 'session-ended';
/**
 * The pause between two conversations of the tenants without poison events. A few such conversations are enough to show that they are not
 * delayed.
 */
const paceMs = 1_500;

const shared = sharedFaultMesh(test);

/** Publishes messages that no consumer can handle. Their key is a session's id, so that later events of that session wait behind them. */
function poisoner({ servers: { env }, kafka: connection }: FaultMesh) {
  async function send(message: Parameters<ReturnType<typeof kafkaProducer>['send']>[1][0]): Promise<void> {
    const producer = kafkaProducer(connection);
    await producer.send(poisonedTopic, [message]);
    await producer.close();
  }

  async function publish(sessionId: number, part: Partial<Envelope>, id: string = randomUUID()): Promise<string> {
    const data = SessionEnded.encode({ sessionId, agentId: 1, status: 'ENDED', endedAt: new Date() }).finish();
    const event = { type: 'session.ended.v1', source: 'session', tenantId: 1, time: new Date() };
    await send(toMessage({ topic: poisonedTopic, ...event, data, ...part, id, key: String(sessionId) }));
    return id;
  }

  return {
    /** Publishes a truncated payload. @returns the event's id */
    unparsable: (sessionId: number) => publish(sessionId, { data: new Uint8Array([0x1a, 0x7f, 0x45]) }),
    /** Publishes an event whose tenant id is too large for the database. @returns the event's id */
    failing: (sessionId: number) => publish(sessionId, { tenantId: 2 ** 31 }),
    /**
     * Publishes an event whose handler hangs: until `letGo`, a transaction of the test holds the event's inbox mark. The transaction is
     * then rolled back.
     */
    async hanging(sessionId: number) {
      const schema = schemas.find(({ name }) => name === 'evaluation');
      if (!schema) throw new Error('there is no evaluation');
      const database = openDatabase({ url: env.DATABASE_URL ?? '', schema, poolSize: 1, statementTimeoutMs: 120_000 });
      const id = randomUUID();
      const [held, rest] = [createGate(), createGate()];
      const takenBack = new Error('the mark is taken back');
      const holding = database.transact(1, (db) =>
        once(db, 'evaluation', id, async () => {
          held.open();
          await rest.pass();
          throw takenBack;
        }),
      );
      const ended = holding.catch((error: unknown) => {
        if (error !== takenBack) throw error;
      });
      await Promise.race([held.pass(), ended]);
      await publish(sessionId, {}, id);
      return {
        id,
        async letGo() {
          rest.open();
          await ended;
          await database.close();
        },
      };
    },
    /** Publishes a message that is not an event. @returns its position in the topic */
    async noEvent(sessionId: number): Promise<string> {
      const value = `no event ${randomUUID()}`;
      await send({ key: String(sessionId), value: Buffer.from(value), headers: {} });
      const found = (await readTopic(connection, poisonedTopic)).find(({ message }) => String(message.value) === value);
      if (!found) throw new Error('what was published is not there');
      return found.position;
    },
    /** Returns all dead letters of the poisoned topic by event id, or by position for messages that are not events. */
    async letters() {
      const letters = kafkaDeadLetters(connection);
      try {
        const stored = await letters.list(poisonedTopic);
        return new Map(stored.map(({ event, facts }) => [event?.id ?? `${facts.partition}:${facts.offset}`, facts]));
      } finally {
        await letters.close();
      }
    },
  };
}

serverTest(
  meshEngines,
  'an event that cannot be handled becomes a dead letter within 30 s, and later events are handled',
  async (t) => {
    t.timeout(180_000);
    const mesh = await shared();
    const client = await mesh.person();
    const agentId = await createAgent(client);
    const newSession = async () => (await startSession(client, agentId)).id;
    const poison = poisoner(mesh);
    const published = Date.now();
    const behind = await Promise.all(Array.from({ length: 4 }, newSession));
    const [one = 0, two = 0, three = 0, four = 0] = behind;
    const hanging = await poison.hanging(one);
    const unparsable = await poison.unparsable(two);
    const failing = await poison.failing(three);
    const noEvent = await poison.noEvent(four);
    const ids = [hanging.id, unparsable, failing, noEvent];
    mesh.poison.push(...ids);
    for (const sessionId of behind) await endSession(client, sessionId);

    const { talk, sessionIds: others } = await traffic(mesh);
    const givenUp = async () => {
      await Promise.all([talk(), delay(paceMs)]);
      const found = await poison.letters();
      return ids.every((id) => found.has(id)) && found;
    };
    const letters = await eventually('all of it is given up', givenUp, { timeoutMs: 60_000 });
    await hanging.letGo();
    const tookMs = ids.map((id) => (letters.get(id)?.time.getTime() ?? Number.NaN) - published);
    t.log(`given up after ${tookMs.map(seconds).join(', ')}`);
    for (const ms of tookMs) t.true(ms < 30_000);
    t.like(letters.get(hanging.id), { group: 'evaluation', attempts: 5 });
    // The attempt times out after 5 s, and so does its wait for the lock. The recorded reason depends on which timeout comes first.
    t.regex(letters.get(hanging.id)?.reason ?? '', /took longer than|lock timeout/);
    t.like(letters.get(unparsable), { group: 'evaluation', attempts: 5 });
    t.like(letters.get(failing), { group: 'evaluation', attempts: 5 });
    t.regex(letters.get(failing)?.reason ?? '', /32-bit/);
    t.like(letters.get(noEvent), { group: 'evaluation', attempts: 0 });
    t.regex(letters.get(noEvent)?.reason ?? '', /ce_\w+ is missing/);
    for (const sessionId of behind) await evaluated(client, sessionId);

    const env = { ...process.env, KAFKA_BROKERS: mesh.servers.env.KAFKA_BROKERS };
    const deadLetters = join(root, 'scripts/src/dead-letters.ts');
    const listed = await exec(process.execPath, [deadLetters, 'list', poisonedTopic], { env });
    t.regex(listed, /4 dead letters\n$/);
    for (const id of ids.slice(0, 3)) t.true(listed.includes(id));
    t.deepEqual(await mesh.settled(), []);

    // Sessions without poison events did not wait for the hanging event.
    const { sessions, evaluations } = await mesh.rows();
    const judgedAt = new Map(evaluations.map(({ sessionId, generatedAt }) => [sessionId, generatedAt.getTime()]));
    const waits = sessions
      .filter(({ id }) => others.includes(id))
      .map(({ id, endedAt }) => (judgedAt.get(id) ?? Number.NaN) - (endedAt?.getTime() ?? Number.NaN));
    t.log(`${waits.length} other sessions judged meanwhile, each within ${seconds(Math.max(...waits))}`);
    t.true(waits.every((ms) => ms < (tookMs[0] ?? 0) / 2));
  },
);

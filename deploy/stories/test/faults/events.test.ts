// Stops Kafka for a while. At full length, this file has its own mesh.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { EventBus } from '@parley/events/event-bus';
import { readTopic } from '@parley/events/kafka-dead-letters';
import { kafkaEventBus } from '@parley/events/kafka-event-bus';
import { kafkaProducer } from '@parley/events/kafka-producer';
import { makeTopics } from '@parley/events/kafka-topics';
import { ReplicaProcess } from '@parley/mesh/replica-process';
import { freePorts } from '@parley/servers/ports';
import { serverTest } from '@parley/servers/testing/server-test';
import { eventually } from '@parley/testing/eventually';
import { topics } from '@parley/units';
import test, { type ExecutionContext } from 'ava';
import { type FaultMesh, fullLength, meshEngines, sharedFaultMesh } from './fault-mesh.ts';
import { reader } from './reader.ts';
import { during, seconds, traffic } from './traffic.ts';

const kafkaAwayMs = fullLength ? 60_000 : 6_000;
/**
 * How long a consumer is paused. The pause is always longer than the consumer group's session timeout. At full length, the pause is also
 * longer than the timeout of the consumer's watchdog.
 */
const stalledMs = fullLength ? 65_000 : 12_000;
const members = fullLength ? 4 : 1;
/** All events of an outage must have taken effect within this time after its end. */
const goalMs = 60_000;

const shared = sharedFaultMesh(test);

/** Returns the number of these sessions that have an evaluation. */
async function judgedOf(mesh: FaultMesh, sessionIds: number[]): Promise<number> {
  const ours = new Set(sessionIds);
  return (await mesh.rows()).evaluations.filter(({ sessionId }) => ours.has(sessionId)).length;
}

/**
 * Publishes numbered events with several keys on a separate topic, each after the acknowledgement of the previous one, and consumes them.
 */
async function numberedEvents(t: ExecutionContext, brokers: string[]) {
  const keys = ['1', '2', '3'];
  const topic = `test-${randomUUID()}`;
  await makeTopics([{ name: topic, partitions: 3, retentionMs: 3_600_000 }], { brokers });
  const taken = new Map<string, number[]>(keys.map((key) => [key, []]));
  function connect(): EventBus {
    const bus = kafkaEventBus({ brokers, joinTimeoutMs: 100 });
    t.teardown(() => bus.close());
    return bus;
  }
  const bus = connect();
  await connect().subscribe({
    group: 'first',
    topics: [topic],
    async handler({ key, id }) {
      const ofKey = taken.get(key) ?? [];
      if (!ofKey.includes(Number(id))) ofKey.push(Number(id));
    },
  });
  const over = new AbortController();
  t.teardown(() => over.abort());
  let acknowledged = 0;
  let refused = 0;
  const event = { topic, type: 'test.happened.v1', source: 'test', tenantId: 1, time: new Date(0) };
  const writers = keys.map(async (key) => {
    for (let number = 0; !over.signal.aborted; await delay(20)) {
      try {
        await bus.publish([{ ...event, id: String(number), key, data: new Uint8Array() }]);
        number += 1;
        acknowledged += 1;
      } catch {
        refused += 1;
      }
    }
  });
  const flow = async (count: number) => {
    const before = acknowledged;
    await eventually('events flow', () => acknowledged >= before + count, { timeoutMs: goalMs });
  };
  const late = connect();
  const received: string[] = [];
  const effects = () => [...taken.values()].reduce((sum, { length }) => sum + length, 0);
  await flow(30);
  return {
    /** Subscribes another consumer group while Kafka is down. */
    async startLateComer() {
      await late.subscribe({ group: 'late', topics: [topic], handler: async ({ id }) => void received.push(id) });
      await t.throwsAsync(async () => late.ping?.());
    },
    untilRefused: () => eventually('publishing is refused', () => refused > keys.length),
    /** Publishes some more events, then stops. Asserts that all acknowledged events took effect, in order for each key. */
    async assertWhole() {
      await flow(30);
      over.abort();
      await Promise.all(writers);
      await eventually('all have taken effect', () => effects() >= acknowledged, { timeoutMs: goalMs });
      for (const numbers of taken.values()) t.deepEqual(numbers, [...numbers.keys()]);
      await eventually('the late group receives events', () => received.length > 0, { timeoutMs: goalMs });
      await late.ping?.();
    },
  };
}

serverTest(
  meshEngines,
  'while Kafka is down, the API stays up, and all events take effect once Kafka is back',
  async (t) => {
    t.timeout(300_000);
    const mesh = await shared();
    const kafka = mesh.servers.server('kafka');
    const { client, sessionIds, talkAtOnce } = await traffic(mesh);
    const documents = await reader(mesh);
    const numbered = await numberedEvents(t, mesh.kafka.brokers);
    await kafka.kill();
    const whileAway = async () => {
      let signedIn = 0;
      await during(kafkaAwayMs, async () => {
        await talkAtOnce();
        if (sessionIds.length % 4 !== 1) return;
        await (await mesh.person()).elsewhere();
        signedIn += 1;
      });
      t.true(signedIn > 0);
      await documents.readAndUpload(t);
      await numbered.untilRefused();
      await numbered.startLateComer();
      const death = await mesh.kill('evaluation-1');
      // A restarted process that cannot reach Kafka is not ready for its first 30 s.
      await eventually('evaluation-1 runs again', () =>
        mesh.ops('evaluation-1', '/healthz').then(
          ({ ok }) => ok,
          () => false,
        ),
      );
      for (const { name } of mesh.replicas) t.is(await mesh.isReady(name), name !== 'evaluation-1', name);
      t.is((await mesh.rows()).outbox.length, sessionIds.length + documents.uploads());
      t.is(await judgedOf(mesh, sessionIds), 0);
      return death;
    };
    const restarted = await whileAway().finally(() => kafka.start());
    const back = performance.now();
    await restarted.back();
    while ((await judgedOf(mesh, sessionIds)) < sessionIds.length) {
      t.true(performance.now() - back < goalMs, 'every session has its evaluation');
      await delay(200);
    }
    const tookMs = performance.now() - back;
    t.log(`${sessionIds.length} sessions ended in ${seconds(kafkaAwayMs)}, judged ${seconds(tookMs)} after its return`);
    t.true(tookMs < goalMs);
    await numbered.assertWhole();
    await documents.assertRead(t);
    t.deepEqual(await mesh.settled(), []);
    await client.query('{ sessionCount }');
  },
);

/** Publishes all messages of the topics again, `times` times and shuffled. @returns the number of messages */
async function deliverAgain({ kafka }: FaultMesh, times: number): Promise<number> {
  const producer = kafkaProducer(kafka);
  let count = 0;
  for (const { name: topic } of topics) {
    const read = await readTopic(kafka, topic);
    const copies = Array.from({ length: times }, () => read).flat();
    const messages = copies
      .map(({ message: { key, value, headers = {} } }) => ({ at: Math.random(), message: { key, value, headers } }))
      .toSorted((one, other) => one.at - other.at)
      .map(({ message }) => message);
    if (messages.length > 0) await producer.send(topic, messages);
    count += messages.length;
  }
  await producer.close();
  return count;
}

serverTest(meshEngines, 'events that are delivered five times and shuffled take effect once', async (t) => {
  t.timeout(180_000);
  const mesh = await shared();
  const { talk, sessionIds } = await traffic(mesh);
  const pid = mesh.pid('evaluation-1');
  process.kill(pid, 'SIGSTOP');
  try {
    for (let n = 0; n < (fullLength ? 50 : 8); n += 1) await talk();
    const deleted = await mesh.person();
    await deleted.query('mutation { deleteTenant }');
    await eventually('they are published', async () => (await mesh.rows()).outbox.length === 0);
    t.log(`${await deliverAgain(mesh, 4)} messages more`);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  t.deepEqual(await mesh.settled(), []);
  t.is(await judgedOf(mesh, sessionIds), sessionIds.length);
});

serverTest(meshEngines, 'a consumer that is paused catches up, and no event is lost or handled twice', async (t) => {
  t.timeout(300_000);
  const mesh = await shared();
  const { talk, sessionIds } = await traffic(mesh);
  const pid = mesh.pid('evaluation-1');
  const log = () => readFileSync(join(mesh.logFolder, 'evaluation-1.log'), 'utf8');
  const stalls = () => log().split('neither fetched nor sent a heartbeat').length - 1;
  const before = stalls();
  await talk();
  process.kill(pid, 'SIGSTOP');
  try {
    await during(stalledMs, talk);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  const again = performance.now();
  // The consumer recovers by itself if a response from Kafka has arrived during the stall, and otherwise by its watchdog. `kafka-consume`
  // tests the watchdog alone.
  const areJudged = async () => (await judgedOf(mesh, sessionIds)) === sessionIds.length;
  await eventually('all of them are judged', areJudged, { timeoutMs: goalMs });
  // Each evaluation request that was sent to the model before the stall may be sent again.
  t.deepEqual(await mesh.settled({ repeats: 1 }), []);
  const how = stalls() > before ? 'by its watchdog' : 'by itself';
  t.log(`${sessionIds.length} sessions, settled ${seconds(performance.now() - again)} after it went on ${how}`);
  t.is(mesh.pid('evaluation-1'), pid);
});

/** Makes a second evaluation process, which joins the consumer group of the first. */
async function anotherMember({ replicas, environments, logs }: FaultMesh): Promise<ReplicaProcess> {
  const main = replicas.find(({ unit }) => unit === 'evaluation')?.main ?? '';
  const [ops, rpc] = await freePorts(2);
  const ports = { EVALUATION_OPS_PORT: String(ops), EVALUATION_RPC_PORT: String(rpc) };
  const env = { ...environments.get('evaluation-1'), ...ports };
  const readyUrl = `http://127.0.0.1:${ops}/readyz`;
  return new ReplicaProcess({ name: 'evaluation-2', main, env, readyUrl, logs, say: () => undefined });
}

serverTest(meshEngines, 'no event is lost or handled twice while consumers join and leave', async (t) => {
  t.timeout(300_000);
  const mesh = await shared();
  const { talk, sessionIds } = await traffic(mesh);
  const over = new AbortController();
  const talking = during(Number.POSITIVE_INFINITY, talk, over.signal);
  try {
    for (let n = 0; n < members; n += 1) {
      const member = await anotherMember(mesh);
      try {
        await member.start();
        const count = sessionIds.length;
        await eventually('conversations end meanwhile', () => sessionIds.length >= count + 10);
      } finally {
        await member.stop();
      }
    }
  } finally {
    over.abort();
    await talking;
  }
  // If a member leaves the consumer group while it works on an evaluation, another member repeats the evaluation.
  t.deepEqual(await mesh.settled({ repeats: members }), []);
  t.log(`${sessionIds.length} sessions while ${members} came and went`);
});

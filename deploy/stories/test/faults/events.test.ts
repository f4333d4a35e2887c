import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { kafkaDeadLetters } from '@parley/chassis/events/kafka-dead-letters';
import { eventually } from '@parley/chassis/testing/eventually';
import { openLogs } from '@parley/mesh/logs';
import { replicaProcess } from '@parley/mesh/replica-process';
import { neighbours } from '@parley/mesh/replicas';
import { exec } from '@parley/servers/exec';
import { freePorts } from '@parley/servers/ports';
import { root } from '@parley/servers/root';
import { serverTest } from '@parley/servers/testing/server-test';
import test from 'ava';
import { createAgent, endSession, evaluated, startSession } from '../../src/conversation.ts';
import { readRows } from '../../src/invariants/read-rows.ts';
import { deliverAgain, kafkaOf } from './events-again.ts';
import { poisonedTopic, poisoner } from './events-poison.ts';
import { during, seconds, traffic } from './events-traffic.ts';
import { type FaultMesh, fullLength, meshEngines, sharedFaultMesh } from './fault-mesh.ts';

const kafkaAwayMs = fullLength ? 60_000 : 6_000;
/** At full length the watchdog's own time; never less than what its group waits for a member. */
const stalledMs = fullLength ? 65_000 : 12_000;
const members = fullLength ? 4 : 1;
/** All effects are there so long after the end of an outage. */
const goalMs = 60_000;

const shared = sharedFaultMesh(test, { env: fullLength ? {} : { KAFKA_STALLED_AFTER_MS: '5000' } });

serverTest(
  meshEngines,
  'while Kafka is away the API stays up and events wait, and all take effect on its return',
  async (t) => {
    t.timeout(300_000);
    const mesh = await shared();
    const kafka = mesh.servers.server('kafka');
    const { client, sessionIds, talkAtOnce } = await traffic(mesh);
    await kafka.kill();
    let signedIn = 0;
    await during(kafkaAwayMs, async () => {
      await talkAtOnce();
      if (sessionIds.length % 4 !== 0) return;
      await (await mesh.person()).elsewhere();
      signedIn += 1;
    });
    t.true(signedIn > 0);
    for (const { name } of mesh.replicas) t.true(await mesh.isReady(name), name);
    const { outbox, evaluations } = await readRows(mesh.checker.database);
    t.is(outbox.length, sessionIds.length);
    const ours = new Set(sessionIds);
    t.is(evaluations.filter(({ sessionId }) => ours.has(sessionId)).length, 0);

    await kafka.start();
    const back = performance.now();
    const judged = async () => {
      const rows = await readRows(mesh.checker.database);
      return rows.evaluations.filter(({ sessionId }) => ours.has(sessionId)).length === ours.size;
    };
    await eventually('every session has its evaluation', judged, { timeoutMs: 2 * goalMs });
    const tookMs = performance.now() - back;
    t.log(
      `${ours.size} sessions ended in ${seconds(kafkaAwayMs)} without Kafka, judged ${seconds(tookMs)} after its return`,
    );
    t.true(tookMs < goalMs);
    t.deepEqual(await mesh.settled(), []);
    await client.query('{ sessionCount }');
  },
);

serverTest(meshEngines, 'a consumer that stood still is made anew, and has lost and doubled nothing', async (t) => {
  t.timeout(300_000);
  const mesh = await shared();
  const { talk, sessionIds } = await traffic(mesh);
  const pid = mesh.pid('evaluation-1');
  const log = () => readFileSync(join(mesh.logFolder, 'evaluation-1.log'), 'utf8');
  const stalls = () => log().split('neither fetched nor beat').length - 1;
  const before = stalls();
  await talk();
  process.kill(pid, 'SIGSTOP');
  try {
    await during(stalledMs, talk);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  const again = performance.now();
  await eventually('its watchdog makes it anew', () => stalls() > before);
  // What its judges were asked before it stood still they may be asked again.
  t.deepEqual(await mesh.settled({ repeats: 1 }), []);
  t.log(`${sessionIds.length} sessions, settled ${seconds(performance.now() - again)} after it went on`);
  t.is(mesh.pid('evaluation-1'), pid);
});

/** One more evaluation process, which joins the group of the first. */
async function anotherMember(mesh: FaultMesh) {
  const first = mesh.replicas.find(({ unit }) => unit === 'evaluation');
  const [port] = await freePorts(1);
  const { GATEWAY_PORT: _port, STORAGE_PORT: _storage, ...env } = mesh.env;
  const logs = openLogs({ folder: join(mesh.logFolder, 'members') });
  const member = replicaProcess({
    name: 'evaluation-2',
    main: first?.main ?? '',
    env: { ...env, ...neighbours(mesh.replicas, {}), EVALUATION_OPS_PORT: String(port) },
    readyUrl: `http://127.0.0.1:${port}/readyz`,
    logs,
    say: () => undefined,
  });
  return {
    start: () => member.start(),
    async stop() {
      await member.stop();
      await logs.close();
    },
  };
}

serverTest(meshEngines, 'members that join and leave while events flow lose and double none', async (t) => {
  t.timeout(300_000);
  const mesh = await shared();
  const { talk, sessionIds } = await traffic(mesh);
  const over = new AbortController();
  const talking = (async () => {
    while (!over.signal.aborted) await talk();
  })();
  try {
    for (let n = 0; n < members; n += 1) {
      const member = await anotherMember(mesh);
      try {
        await member.start();
        const count = sessionIds.length;
        await eventually('conversations end meanwhile', () => sessionIds.length >= count + 10, { timeoutMs: 30_000 });
      } finally {
        await member.stop();
      }
    }
  } finally {
    over.abort();
    await talking;
  }
  // A judgement that the one who left had under way is made anew.
  t.deepEqual(await mesh.settled({ repeats: members }), []);
  t.log(`${sessionIds.length} sessions while ${members} came and went`);
});

serverTest(meshEngines, 'events that are delivered five times and shuffled take effect once each', async (t) => {
  t.timeout(180_000);
  const mesh = await shared();
  const { talk, sessionIds } = await traffic(mesh);
  const pid = mesh.pid('evaluation-1');
  process.kill(pid, 'SIGSTOP');
  try {
    for (let n = 0; n < (fullLength ? 50 : 15); n += 1) await talk();
    const gone = await mesh.person();
    await gone.query('mutation { deleteTenant }');
    await eventually('they are published', async () => (await readRows(mesh.checker.database)).outbox.length === 0);
    t.log(`${await deliverAgain(mesh.env, 4)} messages more`);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  t.deepEqual(await mesh.settled(), []);
  const { evaluations } = await readRows(mesh.checker.database);
  const ours = new Set(sessionIds);
  t.is(evaluations.filter(({ sessionId }) => ours.has(sessionId)).length, sessionIds.length);
});

/** All letters on the poisoned topic, by the id of the event or the place of what is none. */
async function lettersOf(mesh: FaultMesh) {
  const letters = kafkaDeadLetters(kafkaOf(mesh.env));
  try {
    const stored = await letters.list(poisonedTopic);
    return new Map(
      stored.map(({ event, facts }) => [event?.id ?? `${facts.partition}:${facts.offset}`, facts] as const),
    );
  } finally {
    await letters.close();
  }
}

serverTest(
  meshEngines,
  'poison and a handler that hangs are dead letters within 30 s, with the reason, and what is behind them moves on',
  async (t) => {
    t.timeout(180_000);
    const mesh = await shared();
    const client = await mesh.person();
    const agentId = await createAgent(client);
    const newSession = async () => (await startSession(client, agentId)).id;
    const poison = poisoner(mesh.env);
    const published = Date.now();
    const behind = await Promise.all(Array.from({ length: 4 }, newSession));
    const [one = 0, two = 0, three = 0, four = 0] = behind;
    const hanging = await poison.hanging(one);
    const unparsable = await poison.unparsable(two);
    const failing = await poison.failing(three);
    const noEvent = await poison.noEvent(four);
    const ids = [hanging.id, unparsable, failing, noEvent];
    for (const sessionId of behind) await endSession(client, sessionId);

    const { talk, sessionIds: others } = await traffic(mesh);
    const givenUp = async () => {
      await talk();
      const found = await lettersOf(mesh);
      return ids.every((id) => found.has(id)) && found;
    };
    const letters = await eventually('all of it is given up', givenUp, { timeoutMs: 60_000 });
    await hanging.letGo();
    const tookMs = ids.map((id) => (letters.get(id)?.time.getTime() ?? Number.NaN) - published);
    t.log(`given up after ${tookMs.map(seconds).join(', ')}`);
    for (const ms of tookMs) t.true(ms < 30_000);
    t.like(letters.get(hanging.id), { group: 'evaluation', attempts: 5 });
    t.regex(letters.get(hanging.id)?.reason ?? '', /took longer than/);
    t.like(letters.get(unparsable), { group: 'evaluation', attempts: 5 });
    t.like(letters.get(failing), { group: 'evaluation', attempts: 5 });
    t.regex(letters.get(failing)?.reason ?? '', /32-bit/);
    t.like(letters.get(noEvent), { group: 'evaluation', attempts: 0 });
    t.regex(letters.get(noEvent)?.reason ?? '', /ce_\w+ is missing/);
    for (const sessionId of behind) await evaluated(client, sessionId);

    const env = { ...process.env, KAFKA_BROKERS: mesh.env.KAFKA_BROKERS };
    const listed = await exec(process.execPath, [join(root, 'scripts/src/dead-letters.ts'), 'list', poisonedTopic], {
      env,
    });
    t.regex(listed, /4 dead letters\n$/);
    for (const id of ids.slice(0, 3)) t.true(listed.includes(id));
    t.deepEqual(await mesh.settled({ poison: ids }), []);

    // Nobody else has waited for the one that hung.
    const { sessions, evaluations } = await readRows(mesh.checker.database);
    const judgedAt = new Map(evaluations.map(({ sessionId, generatedAt }) => [sessionId, generatedAt.getTime()]));
    const waits = sessions
      .filter(({ id }) => others.includes(id))
      .map(({ id, endedAt }) => (judgedAt.get(id) ?? Number.NaN) - (endedAt?.getTime() ?? Number.NaN));
    t.log(`${waits.length} other sessions judged meanwhile, each within ${seconds(Math.max(...waits))}`);
    t.true(waits.every((ms) => ms < 10_000));
  },
);

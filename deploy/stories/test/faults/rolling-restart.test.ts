// Replaces every process. At full length, this file has its own mesh.
import { serverTest } from '@parley/servers/testing/server-test';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { createAgent, startSession } from '../../src/conversation.ts';
import { followLastingly, type LastingFollower } from '../../src/lasting-follower.ts';
import { idsGrow, type SessionEvent } from '../../src/session-events.ts';
import { fullLength, meshEngines, sharedFaultMesh } from './fault-mesh.ts';
import { during } from './traffic.ts';

const shared = sharedFaultMesh(test);
const followersPerSession = fullLength ? 10 : 5;
const sessionsAtAll = fullLength ? 100 : 5;
const tenants = 5;
/** The maximum time that a client may be without its subscription. */
const backWithinMs = 15_000;

/**
 * Reports whether a unit is restarted. The short form restarts only the units that hold subscriptions; `stop.test.ts` and `kill.test.ts`
 * test the end of the other units.
 */
const restarted = (unit: string) => fullLength || unit === 'gateway' || unit === 'session';

const isFinal = ({ __typename }: SessionEvent) => __typename !== 'AiResponseChunkEvent';
const repliesOf = (events: SessionEvent[]) => events.filter(({ __typename }) => __typename === 'AiResponseEvent');

/** Creates users for the test. Each user follows sessions through one address, and sends messages while the units are restarted. */
async function crowd() {
  const mesh = await shared();
  const people = await Promise.all(Array.from({ length: tenants }, () => mesh.person()));
  const agents = await Promise.all(people.map((client) => createAgent(client)));
  const talks: { client: (typeof people)[number]; sessionId: number; followers: LastingFollower[]; sent: number }[] =
    [];
  for (let n = 0; n < sessionsAtAll; n += 1) {
    const [client, agentId] = [people[n % tenants], agents[n % tenants]];
    if (!client || agentId === undefined) throw new Error('fewer people than tenants');
    const { id } = await startSession(client, agentId);
    const followers = Array.from({ length: followersPerSession }, () => followLastingly(client, id));
    talks.push({ client, sessionId: id, followers, sent: 0 });
    await eventually('all follow', () => followers.every(({ events }) => events.length > 0));
  }

  /** Sends one message in each session, one after the other, and waits until a follower has received the reply. */
  async function sayOnce(): Promise<void> {
    for (const talk of talks) {
      talk.sent += 1;
      await mesh.ledger.send(talk.client, talk.sessionId, `Session ${talk.sessionId}, message ${talk.sent}.`);
      await eventually('a reply', () => talk.followers.some(({ events }) => repliesOf(events).length >= talk.sent), {
        timeoutMs: 30_000,
      });
    }
  }
  return { mesh, talks, sayOnce };
}

serverTest(
  meshEngines,
  `a rolling restart under ${sessionsAtAll * followersPerSession} subscriptions loses, duplicates and reorders nothing`,
  async (t) => {
    t.timeout(600_000);
    const { mesh, talks, sayOnce } = await crowd();
    const followers = talks.flatMap((talk) => talk.followers);
    t.teardown(() => Promise.all(followers.map(({ leave }) => leave())));
    const over = new AbortController();
    const talking = during(Number.POSITIVE_INFINITY, sayOnce, over.signal);
    talking.catch(() => undefined); // a failure is asserted below
    for (const { name, unit } of mesh.replicas) {
      if (!restarted(unit)) continue;
      const death = await mesh.kill(name, 'SIGTERM');
      t.is(death.how, 'exit code 0', name);
      t.true(death.endedAfterMs < 25_000, `${name} stopped after ${death.endedAfterMs} ms`);
      await death.back();
    }
    over.abort();
    await talking;
    await sayOnce();
    const all = () =>
      talks.every(({ followers: of, sent }) => of.every(({ events }) => repliesOf(events).length >= sent));
    await eventually('every follower has received everything', all, { timeoutMs: 30_000 });

    const outages = followers.flatMap((follower) => follower.outages);
    const lengths = outages.map(({ fromMs, untilMs = Number.POSITIVE_INFINITY }) => untilMs - fromMs);
    const reasons = Map.groupBy(outages, ({ reason }) => reason);
    const counts = [...reasons].map(([reason, of]) => `${of.length} × ${reason}`).join(', ');
    const said = talks.reduce((sum, { sent }) => sum + sent, 0);
    const longest = (Math.max(...lengths) / 1000).toFixed(1);
    t.log(`${followers.length} subscriptions, ${said} messages; outages: ${counts}; the longest ${longest} s`);
    t.true(outages.length >= followers.length, 'each socket hung on a gateway that was restarted');
    t.true(Math.max(...lengths) < backWithinMs);
    // Subscriptions end with the close code or error of a gateway or session replica that is stopping. Clients then subscribe again.
    t.deepEqual(
      [...reasons.keys()].filter((reason) => !['closed 1001', 'closed 1013', 'UNAVAILABLE'].includes(reason)),
      [],
    );

    const unsure = mesh.ledger.messages.filter(({ outcome }) => outcome !== 'acknowledged');
    t.log(`sent again: ${unsure.length}, ${[...new Set(unsure.map(({ code }) => code))].join(', ')}`);
    const stored = (await mesh.rows()).messages.filter(({ role }) => role === 'MODEL');
    for (const { followers: of, sessionId } of talks) {
      const [first] = of;
      const replies = stored.filter((message) => message.sessionId === sessionId).length;
      for (const { events } of of) {
        t.true(idsGrow(events), `session ${sessionId}`);
        t.deepEqual(events.filter(isFinal), first?.events.filter(isFinal), `session ${sessionId}`);
        t.is(repliesOf(events).length, replies);
      }
    }
    for (const { client, sessionId } of talks) await mesh.ledger.end(client, sessionId);
    t.deepEqual(await mesh.settled({ timeoutMs: 120_000 }), []);
  },
);

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { eventually } from '@parley/testing/eventually';
import type { ExecutionContext } from 'ava';
import type { Consumer } from 'kafkajs';
import type { Envelope } from '../src/envelope.ts';
import { joinGroup, type MemberOptions, type MemberTimes, makeConsumer } from '../src/kafka-member.ts';
import { kafkaSetup, onKafka, testBrokers } from './support/kafka-test.ts';

const child = join(import.meta.dirname, 'support/kafka-member-child.ts');

onKafka((test) => {
  for (const end of ['SIGSTOP', 'SIGKILL'] as const) {
    test(`a member whose process gets ${end} in mid-handling loses its partitions to the others, in order`, async (t) => {
      const { connect, event, topic } = await kafkaSetup(t);
      const effects = effectsOf();
      const remote = await startMember(t, topic, effects.take);
      await connect({ sessionTimeoutMs: 6_000 }).subscribe({
        group: 'a',
        topics: [topic],
        concurrency: 4,
        handler: async (one) => effects.take(one),
      });
      const producer = connect();
      const sent: Envelope[] = [];
      const publish = async () => {
        const events = Array.from({ length: 60 }, (_, n) => event(`key ${n % 10}`));
        sent.push(...events);
        await producer.publish(events);
      };

      await publish();
      await eventually('both have partitions', () => effects.all.size === sent.length && remote.count() > 0);
      const before = remote.count();
      remote.hold();
      await publish();
      await eventually('it is handling', () => remote.count() > before);
      remote.process.kill(end);
      await publish();
      await eventually('all have taken effect', () => effects.all.size === sent.length, { timeoutMs: 40_000 });
      if (end === 'SIGSTOP') {
        remote.process.kill('SIGCONT');
        remote.release();
        await publish();
        await eventually('all have taken effect', () => effects.all.size === sent.length, { timeoutMs: 40_000 });
      }
      for (const [key, ids] of effects.byKey) {
        t.deepEqual(
          ids,
          sent.filter((one) => one.key === key).map(({ id }) => id),
          key,
        );
      }
    });
  }

  test('a consumer that continues to fetch after a rebalance that it did not join is replaced', async (t) => {
    const { connect, event, topic } = await kafkaSetup(t);
    const { taken, consumers } = await emittingMember(t, topic, { stalledAfterMs: 2_000 });
    consumers[0]?.emit('consumer.rebalancing', {});
    const sent = event('1');
    await connect().publish([sent]);
    await eventually('its event is handled', () => taken.has(sent.id));
    t.true(consumers.length > 1);
  });

  test('a failed consumer does not revoke the partitions of the one that replaced it', async (t) => {
    const { connect, event, topic } = await kafkaSetup(t);
    const { taken, consumers } = await emittingMember(t, topic);
    const producer = connect();
    const sent = [event('1'), event('1')] as const;
    consumers[0]?.emit('consumer.crash', { error: new Error('crashed') });
    await producer.publish([sent[0]]);
    await eventually('the next one has taken over', () => consumers.length === 2 && taken.has(sent[0].id));
    consumers[0]?.emit('consumer.rebalancing', {});
    await producer.publish([sent[1]]);
    await eventually('the next one goes on', () => taken.has(sent[1].id));
    t.is(consumers.length, 2);
  });
});

/**
 * Starts a member and waits until it has joined. `taken` has the ids of the member's events, `consumers` the consumers that it has used one
 * after another.
 */
async function emittingMember(t: ExecutionContext, topic: string, times: MemberTimes = {}) {
  const taken = new Set<string>();
  const consumers: ReturnType<typeof emittingConsumer>[] = [];
  const member = joinGroup({
    ...times,
    brokers: testBrokers,
    groupId: `a.${topic}`,
    topic,
    concurrency: 4,
    makeConsumer(options) {
      const made = emittingConsumer(options);
      consumers.push(made);
      return made.consumer;
    },
    handle: async ({ message }) => void taken.add(message.headers?.['ce_id']?.toString() ?? ''),
  });
  t.teardown(() => member.stop());
  await member.joined;
  return { taken, consumers };
}

/** A consumer whose events a test can emit. */
function emittingConsumer(options: MemberOptions) {
  const consumer = makeConsumer(options);
  const listeners: { name: string; listener: (event: never) => void }[] = [];
  const on: Consumer['on'] = (name: string, listener: (event: never) => void) => {
    listeners.push({ name, listener });
    return Reflect.apply(consumer.on, consumer, [name, listener]);
  };
  return {
    consumer: { ...consumer, on },
    emit(name: string, payload: object) {
      for (const each of listeners) if (each.name === name) Reflect.apply(each.listener, undefined, [{ payload }]);
    },
  };
}

type Taken = Pick<Envelope, 'id' | 'key'>;

/** An inbox that all members share, as they share a database in production. */
function effectsOf() {
  const all = new Set<string>();
  const byKey = new Map<string, string[]>();
  return {
    all,
    byKey,
    take({ id, key }: Taken) {
      if (all.has(id)) return;
      all.add(id);
      byKey.set(key, [...(byKey.get(key) ?? []), id]);
    },
  };
}

/** Starts a member in its own process. While the test holds the member, events that it receives stay unfinished and without effect. */
async function startMember(t: ExecutionContext, topic: string, take: (event: Taken) => void) {
  const member: ChildProcess = fork(child, [testBrokers.join(','), topic]);
  t.teardown(() => member.kill('SIGKILL'));
  const held: Taken[] = [];
  let isHeld = false;
  let count = 0;
  const finish = (event: Taken) => {
    take(event);
    member.send(event.id);
  };
  await once(member, 'message'); // the member has joined
  member.on('message', (event: Taken) => {
    count++;
    if (isHeld) held.push(event);
    else finish(event);
  });
  return {
    process: member,
    count: () => count,
    hold() {
      isHeld = true;
    },
    release() {
      isHeld = false;
      for (const event of held.splice(0)) finish(event);
    },
  };
}

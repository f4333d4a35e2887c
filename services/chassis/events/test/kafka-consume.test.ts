import { randomBytes, randomUUID } from 'node:crypto';
import { unavailable } from '@parley/kernel/errors';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import kafkajs from 'kafkajs';
import type { Envelope } from '../src/envelope.ts';
import { deadLetterTopic } from '../src/event-bus.ts';
import { kafkaClient } from '../src/kafka-client.ts';
import { kafkaGroup } from '../src/kafka-event-bus.ts';
import { toMessage } from '../src/kafka-message.ts';
import { kafkaProducer } from '../src/kafka-producer.ts';
import { makeTopics } from '../src/kafka-topics.ts';
import { usualRetentionMs } from '../src/topics.ts';
import { kafkaNetwork } from './support/kafka-network.ts';
import { testBrokers as brokers, kafkaSetup, onKafka, partitions } from './support/kafka-test.ts';

onKafka((test) => {
  test('unknown headers are ignored, and a message that is not an event goes to the dead letters', async (t) => {
    const { connect, event, topic, letters } = await kafkaSetup(t);
    const producer = kafkaProducer({ brokers });
    t.teardown(() => producer.close());
    const seen: Envelope[] = [];
    await connect().subscribe({ group: 'a', topics: [topic], handler: async (one) => void seen.push(one) });
    const sent = event('1');
    const { headers, ...message } = toMessage(sent);
    await producer.send(topic, [
      { key: '1', value: 'neither header nor protobuf' },
      { ...message, headers: { ...headers, ce_tenantid: 'x' } },
      { ...message, headers: { ...headers, ce_other: 'new', another: Buffer.from([255]) } },
    ]);
    await eventually('the event has arrived', () => seen.length === 1);
    t.is(seen[0]?.id, sent.id);
    const given = await eventually('both letters are there', async () => {
      const all = await letters();
      return all.length === 2 && all;
    });
    t.deepEqual(
      given.map(({ facts }) => [facts.group, facts.attempts, facts.reason]),
      [
        ['a', 0, 'TypeError: the header ce_time is missing'],
        ['a', 0, 'TypeError: the header ce_tenantid is no id'],
      ],
    );
    t.is(given[0]?.message.value?.toString(), 'neither header nor protobuf');
  });

  test('an event whose dead letter cannot be stored is not committed, and later ones of its key wait', async (t) => {
    const { connect, event } = await kafkaSetup(t);
    const topic = `test-${randomUUID()}`;
    const admin = kafkaClient({ brokers }, { retries: 3 }).admin();
    await admin.connect();
    t.teardown(() => admin.disconnect());
    await admin.createTopics({ topics: [{ topic, numPartitions: 1 }], waitForLeaders: false });
    const bus = connect();
    let poison = true;
    let attempts = 0;
    const handled: string[] = [];
    await bus.subscribe({
      group: 'a',
      topics: [topic],
      maxAttempts: 1,
      async handler({ id }) {
        if (id === 'poison' && poison) {
          attempts++;
          throw new Error('poison');
        }
        handled.push(id);
      },
    });
    const ofTopic = (id: string, key: string) => event(key, { id, topic });
    await eventually('it is published', () =>
      bus
        .publish([ofTopic('before', '2'), ofTopic('poison', '1'), ofTopic('behind', '1'), ofTopic('beside', '2')])
        .then(
          () => true,
          () => false,
        ),
    );
    await eventually('the other key is handled', () => handled.includes('beside') && attempts > 0);
    await bus.close();
    const offsets = await admin.fetchOffsets({ groupId: kafkaGroup('a', topic), topics: [topic] });
    t.is(offsets[0]?.partitions[0]?.offset, '1', 'the group goes on at the poison event');
    t.false(handled.includes('behind'));

    await makeTopics([{ name: topic, partitions: 1, retentionMs: usualRetentionMs }], { brokers });
    poison = false;
    await connect().subscribe({ group: 'a', topics: [topic], handler: async ({ id }) => void handled.push(id) });
    await eventually('it is delivered again', () => handled.includes('behind'));
    t.true(handled.indexOf('poison') < handled.indexOf('behind'));
  });

  test('a replayed dead letter goes once to the group that failed, and to no other', async (t) => {
    const { connect, event, topic, letters, replay } = await kafkaSetup(t);
    const poison = event('1', { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' });
    let isFixed = false;
    const taken = new Map<string, string[]>([
      ['a', []],
      ['b', []],
    ]);
    const bus = connect();
    for (const group of ['a', 'b']) {
      await bus.subscribe({
        group,
        topics: [topic],
        maxAttempts: 2,
        async handler({ id }) {
          if (group === 'a' && id === poison.id && !isFixed) throw new Error('not yet');
          taken.get(group)?.push(id);
        },
      });
    }
    await bus.publish([poison]);
    const [letter] = await eventually('the letter is there', async () => {
      const all = await letters();
      return all.length > 0 && all;
    });
    t.like(letter, { wasReplayed: false, facts: { group: 'a', attempts: 2 }, event: { id: poison.id } });
    isFixed = true;
    if (letter) await replay(topic, letter);
    const behind = event('1');
    await bus.publish([behind]);
    await eventually('both groups are done', () => [...taken.values()].every((ids) => ids.includes(behind.id)));
    t.deepEqual(taken.get('a'), [poison.id, behind.id]);
    t.deepEqual(taken.get('b'), [poison.id, behind.id], 'the replay is not for this group');
    t.like(await letters(), { length: 1, 0: { wasReplayed: true } });
  });

  test('a member that gets a partition back handles its events again, although the first attempt fails', async (t) => {
    const { connect, event, topic } = await kafkaSetup(t);
    const producer = connect();
    const entered = createGate();
    const gate = createGate();
    const handled: string[] = [];
    let runs = 0;
    const [first, behind] = [event('1'), event('1')];
    const member = await connect().subscribe({
      group: 'a',
      topics: [topic],
      handlerTimeoutMs: 60_000,
      async handler({ id }) {
        if (id === first.id && runs++ === 0) {
          entered.release();
          await gate.pass();
          throw new Error('the first run fails');
        }
        handled.push(id);
      },
    });
    await producer.publish([first, behind]);
    await entered.pass();
    const passing = await connect().subscribe({
      group: 'a',
      topics: [topic],
      async handler() {
        throw unavailable('not this one');
      },
    });
    await passing.stop();
    const later = Array.from({ length: 30 }, (_, n) => event(`later ${n}`));
    await producer.publish(later);
    await eventually('it has all partitions again', () => later.every(({ id }) => handled.includes(id)));
    gate.open();
    await eventually('both are handled', () => handled.includes(behind.id));
    t.deepEqual(
      handled.filter((id) => id === first.id || id === behind.id),
      [first.id, behind.id],
    );
    await eventually('nothing is left', () => member.lag?.() === 0);
  });

  test('a dead letter too large for the broker is stored without its value, and its key goes on', async (t) => {
    const { connect, event, topic, letters } = await kafkaSetup(t);
    const admin = kafkaClient({ brokers }, { retries: 3 }).admin();
    await admin.connect();
    t.teardown(() => admin.disconnect());
    const type = kafkajs.ConfigResourceTypes.TOPIC;
    const configEntries = [{ name: 'max.message.bytes', value: '1000' }];
    await admin.alterConfigs({
      validateOnly: false,
      resources: [{ type, name: deadLetterTopic(topic), configEntries }],
    });
    await eventually('the broker knows', async () => {
      const resources = [{ type, name: deadLetterTopic(topic), configNames: ['max.message.bytes'] }];
      const {
        resources: [known],
      } = await admin.describeConfigs({ includeSynonyms: false, resources });
      return known?.configEntries[0]?.configValue === '1000';
    });
    const handled: string[] = [];
    const bus = connect();
    const big = event('1', { data: randomBytes(3_000) });
    const behind = event('1');
    await bus.subscribe({
      group: 'a',
      topics: [topic],
      maxAttempts: 2,
      async handler({ id }) {
        if (id === big.id) throw new Error('too much');
        handled.push(id);
      },
    });
    await bus.publish([big, behind]);
    await eventually('the next event of its key is handled', () => handled.includes(behind.id));
    const [letter, ...more] = await letters();
    t.is(more.length, 0);
    t.like(letter, { event: undefined, facts: { group: 'a', attempts: 2, topic, offset: '0' } });
    t.regex(letter?.facts.reason ?? '', /^Error: too much .*3000 bytes/);
    t.is(letter?.message.value, null);
    t.is(letter?.message.headers?.['ce_id']?.toString(), big.id);
  });

  test('a consumer without fetches and heartbeats is replaced, and no event is lost', async (t) => {
    const { connect, event, topic } = await kafkaSetup(t);
    const producer = connect();
    const network = kafkaNetwork();
    const seen = new Set<string>();
    // kafkajs itself would need more than 5 s to detect the frozen connections.
    await connect({ ...network, stalledAfterMs: 1_000, sessionTimeoutMs: 6_000 }).subscribe({
      group: 'a',
      topics: [topic],
      handler: async ({ id }) => void seen.add(id),
    });
    const [before, after] = [event('1'), event('1')];
    await producer.publish([before]);
    await eventually('the first has arrived', () => seen.has(before.id));
    network.freeze();
    await producer.publish([after]);
    await eventually('the second has arrived', () => seen.has(after.id), { timeoutMs: 25_000 });
    t.pass();
  });

  test('a rebalance during handling loses no event and keeps the order of each key', async (t) => {
    const { connect, event, topic } = await kafkaSetup(t);
    const keys = Array.from({ length: 12 }, (_, key) => `key ${key}`);
    const sent = keys.flatMap((key) => Array.from({ length: 40 }, () => event(key)));
    const inbox = new Set<string>();
    const effects = new Map<string, string[]>(keys.map((key) => [key, []]));
    const perMember = { one: 0, two: 0, three: 0 };
    const member = async (name: keyof typeof perMember) =>
      connect().subscribe({
        group: 'a',
        topics: [topic],
        concurrency: 4,
        async handler({ id, key }) {
          perMember[name]++;
          // A second delivery of the event waits and then finds the inbox mark, as with an inbox in a database.
          await new Promise(setImmediate);
          if (inbox.has(id)) return;
          inbox.add(id);
          effects.get(key)?.push(id);
        },
      });
    const one = await member('one');
    const producer = connect();
    const publishQuarter = (n: number) => producer.publish(sent.filter((_, at) => at % 4 === n));
    await publishQuarter(0);
    const two = await member('two');
    await publishQuarter(1);
    const three = member('three');
    await publishQuarter(2);
    await three;
    await one.stop();
    await publishQuarter(3);
    await eventually('all have taken effect', () => inbox.size === sent.length, { timeoutMs: 20_000 });
    for (const [key, ids] of effects) {
      const inOrder = [0, 1, 2, 3].flatMap((n) => sent.filter((each, at) => at % 4 === n && each.key === key));
      t.deepEqual(
        ids,
        inOrder.map(({ id }) => id),
        key,
      );
    }
    t.true(perMember.one > 0 && perMember.two + perMember.three > 0, JSON.stringify(perMember));
    await eventually('nothing is left', () => two.lag?.() === 0);
  });

  test('a member that stops commits what it has handled and hands its partitions over at once', async (t) => {
    const { connect, event, topic } = await kafkaSetup(t);
    const producer = connect();
    const gate = createGate();
    const entered = createGate();
    const first: string[] = [];
    const leaving = await connect().subscribe({
      group: 'a',
      topics: [topic],
      async handler({ id }) {
        entered.release();
        await gate.pass();
        first.push(id);
      },
    });
    const done = event('1');
    await producer.publish([done, event('1'), event('1')]);
    await entered.pass();
    const stopped = leaving.stop();
    gate.open();
    await stopped;
    const stoppedAt = performance.now();
    const second: string[] = [];
    const next = await connect().subscribe({
      group: 'a',
      topics: [topic],
      handler: async ({ id }) => void second.push(id),
    });
    await eventually('the rest is handled', () => second.length === 2);
    // If a member left without notice, its partitions would stay with it for 10 s, until its session expires and the group rebalances.
    t.true(performance.now() - stoppedAt < 9_500, 'before the session times out');
    t.deepEqual(first, [done.id]);
    t.is(next.lag?.(), 0);
    t.deepEqual([...(next.partitions?.() ?? [])], [[topic, partitions]]);
  });

  test('a partition with many events in progress is paused and resumed', async (t) => {
    const { connect, event, topic } = await kafkaSetup(t);
    const bus = connect();
    const gate = createGate();
    const entered = createGate();
    const seen = new Set<string>();
    await bus.subscribe({
      group: 'a',
      topics: [topic],
      concurrency: 2,
      async handler({ id }) {
        entered.release();
        await gate.pass();
        seen.add(id);
      },
    });
    const sent = Array.from({ length: 6_000 }, () => event('1', { data: new Uint8Array(500) }));
    await bus.publish(sent);
    await entered.pass();
    gate.open();
    await eventually('all are handled', () => seen.size === 6_000, { timeoutMs: 30_000 });
    t.deepEqual(
      [...seen],
      sent.map(({ id }) => id),
    );
  });
});

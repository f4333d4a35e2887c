import { randomUUID } from 'node:crypto';
import { kafkaClient } from '@parley/events/kafka-client';
import { kafkaEventBus } from '@parley/events/kafka-event-bus';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import kafkajs from 'kafkajs';
import { type DeadLetterRequest, deadLettersCommand } from './dead-letters-command.ts';
import { topicsCommand } from './topics-command.ts';

const { TEST_KAFKA_BROKERS: KAFKA_BROKERS = '' } = process.env;
const env = { KAFKA_BROKERS };
const kafkaTest = KAFKA_BROKERS || process.env.CI ? test : test.skip; // CI has every engine, so nothing is skipped there

kafkaTest('topics are made once, with the declared partitions and retention', async (t) => {
  const declared = { name: `test-${randomUUID()}`, partitions: 2, retentionMs: 3_600_000 };
  const run = async (topic: typeof declared) => {
    const said: string[] = [];
    await topicsCommand([topic], env, (line) => void said.push(line.replace(/^\S+ +/u, '')));
    return said;
  };
  t.deepEqual(await run(declared), ['created', 'created']);
  t.deepEqual(await run(declared), ['is there', 'is there']);
  t.deepEqual(await run({ ...declared, retentionMs: 7_200_000 }), ['retention changed', 'is there']);
  t.deepEqual(await run({ ...declared, retentionMs: 7_200_000, partitions: 3 }), [
    'is there, but has 2 partitions, 3 are declared',
    'is there',
  ]);
});

kafkaTest('a topic that is compacted is so no more, and keeps its other settings', async (t) => {
  const topic = { name: `test-${randomUUID()}`, partitions: 1, retentionMs: 3_600_000 };
  const said: string[] = [];
  const run = (retentionMs = topic.retentionMs) =>
    topicsCommand([{ ...topic, retentionMs }], env, (line) => void said.push(line.replace(/^\S+ +/u, '')));
  await run();
  const admin = kafkaClient({ brokers: KAFKA_BROKERS.split(',') }, { retries: 5 }).admin();
  await admin.connect();
  t.teardown(() => admin.disconnect());
  const resource = { type: kafkajs.ConfigResourceTypes.TOPIC, name: topic.name };
  const settings = async () => {
    const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: [resource] });
    const of = (name: string) => resources[0]?.configEntries.find(({ configName }) => configName === name)?.configValue;
    return ['cleanup.policy', 'retention.ms', 'segment.bytes'].map(of);
  };
  const compact = async () => {
    const changed = { 'retention.ms': '3600000', 'cleanup.policy': 'compact', 'segment.bytes': '50000000' };
    const configEntries = Object.entries(changed).map(([name, value]) => ({ name, value }));
    await admin.alterConfigs({ validateOnly: false, resources: [{ ...resource, configEntries }] });
    await eventually('it is compacted', async () => (await settings())[0] === 'compact');
  };

  await compact();
  await run();
  t.deepEqual(said.slice(2), ['cleanup.policy changed', 'is there']);
  await eventually('it is compacted no more', async () => (await settings())[0] === 'delete');
  t.deepEqual(await settings(), ['delete', '3600000', '50000000']);

  await compact();
  await run(7_200_000);
  t.deepEqual(said.slice(4), ['retention and cleanup.policy changed', 'is there']);
});

kafkaTest('dead letters are listed without their payload, and those asked for are sent again once', async (t) => {
  const brokers = KAFKA_BROKERS.split(',');
  const topic = `test-${randomUUID()}`;
  await topicsCommand([{ name: topic, partitions: 2, retentionMs: 3_600_000 }], env, t.log);
  const bus = kafkaEventBus({ brokers, backoffMs: () => 1 });
  t.teardown(() => bus.close());
  let mended = false;
  const taken: string[] = [];
  await bus.subscribe({
    group: 'judge',
    topics: [topic],
    maxAttempts: 2,
    async handler({ key }) {
      if (!mended) throw new Error('no ink');
      taken.push(key);
    },
  });
  const event = (key: string) => ({
    id: randomUUID(),
    topic,
    type: 'test.happened.v1',
    source: 'test',
    key,
    tenantId: 3,
    time: new Date(),
    data: new TextEncoder().encode('a secret'),
  });
  const [one, two] = [event('1'), event('2')];
  await bus.publish([one, two]);
  const run = async (request: Partial<DeadLetterRequest>) => {
    const said: string[] = [];
    const asked = { action: 'list', topic, all: false, ...request } as const;
    await deadLettersCommand(asked, env, (line) => void said.push(line));
    return said;
  };
  const listed = await eventually('both letters are there', async () => {
    const lines = await run({});
    return lines.at(-1) === '2 dead letters' && lines;
  });
  t.notRegex(listed.join(), /secret/u);
  t.like(JSON.parse(listed[0] ?? ''), { group: 'judge', attempts: 2, reason: 'Error: no ink', tenantId: 3 });
  t.deepEqual(await run({ group: 'other' }), ['0 dead letters']);

  mended = true;
  t.is((await run({ action: 'replay', id: one.id, group: 'judge' })).at(-1), '1 dead letter sent again');
  t.is((await run({ action: 'replay', id: one.id })).at(-1), '0 dead letters sent again');
  await eventually('it is taken', () => taken.length > 0);
  t.deepEqual(taken, ['1']);
  t.is((await run({})).at(-1), '1 dead letter');
  t.is((await run({ all: true })).at(-1), '2 dead letters');
});

test('without brokers both commands say which setting is missing', async (t) => {
  const list = { action: 'list', topic: 'a', all: false } as const;
  await t.throwsAsync(topicsCommand([], {}, t.log), { message: /KAFKA_BROKERS: is missing/u });
  await t.throwsAsync(deadLettersCommand(list, { KAFKA_BROKERS: 'here' }, t.log), {
    message: /KAFKA_BROKERS: is no list of host:port/u,
  });
});

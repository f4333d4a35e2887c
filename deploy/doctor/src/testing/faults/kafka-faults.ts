import { kafkaClient } from '@parley/events/kafka-client';
import type { TopicDeclaration } from '@parley/events/topics';
import { eventually } from '@parley/testing/eventually';
import kafkajs from 'kafkajs';
import { canary, type Garden } from '../garden.ts';
import { type Fault, nowhere, planted } from '../planted.ts';
import { replacing, rewritingProxy } from '../proxies.ts';

const topic = (garden: Garden, change: Partial<TopicDeclaration>): Fault => ({
  unit: { publishes: [{ ...garden.topic, ...change }] },
});

/** Changes the settings of a topic, as an operator might. */
async function changedTopic(
  { brokers, topic: { name, retentionMs } }: Garden,
  change: Record<string, string>,
): Promise<Fault> {
  const admin = kafkaClient({ brokers }, { retries: 5 }).admin();
  await admin.connect();
  const resource = { type: kafkajs.ConfigResourceTypes.TOPIC, name };
  const set = async (changes: Record<string, string>, undone: Record<string, string> = {}) => {
    const wanted = Object.entries({ 'retention.ms': String(retentionMs), 'cleanup.policy': 'delete', ...changes });
    const configEntries = wanted.map(([setting, value]) => ({ name: setting, value }));
    await admin.alterConfigs({ validateOnly: false, resources: [{ ...resource, configEntries }] });
    await eventually('the brokers know', async () => {
      const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: [resource] });
      const found = resources[0]?.configEntries.map(({ configName, configValue }) => `${configName}=${configValue}`);
      const has = ([setting, value]: [string, string]) => found?.includes(`${setting}=${value}`);
      return wanted.every(has) && !Object.entries(undone).some(has);
    });
  };
  await set(change);
  return { undo: () => set({}, change).finally(() => admin.disconnect()) };
}

export const kafkaFaults = [
  planted(
    'a login for a listener of Kafka without one',
    () => ({ env: { KAFKA_SASL_MECHANISM: 'scram-sha-256', KAFKA_USERNAME: 'gardener', KAFKA_PASSWORD: canary } }),
    ['kafka.protocol'],
    /no Kafka without TLS and with login answers/u,
  ),
  planted(
    'brokers of which none answers',
    () => ({ env: { KAFKA_BROKERS: nowhere } }),
    ['kafka.refused'],
    /nothing listens/u,
  ),
  planted(
    'one broker of several that is down',
    (garden) => ({ env: { KAFKA_BROKERS: [nowhere, ...garden.brokers].join() } }),
    ['kafka.refused'],
    /nothing listens at 127.0.0.1:1$/u,
  ),
  planted(
    'a broker that advertises an address that cannot be reached',
    async (garden, t) => {
      const [broker = ''] = garden.brokers;
      const port = Buffer.alloc(4);
      port.writeInt32BE(Number(broker.split(':')[1]));
      const host = '127.0.0.1';
      const proxy = await rewritingProxy(t, broker, {
        answers: replacing(host + port.toString('latin1'), `${host}\0\0\0\x01`),
      });
      return { env: { KAFKA_BROKERS: proxy } };
    },
    ['kafka.advertised'],
    /tell clients to use 127.0.0.1:1, which cannot be reached/u,
  ),
  planted(
    'a topic that is missing',
    (garden) => topic(garden, { name: 'no-garden' }),
    ['kafka.topics'],
    /no-garden, no-garden.dead-letter/u,
  ),
  planted(
    'a topic with too few partitions',
    (garden) => topic(garden, { partitions: 12 }),
    ['kafka.partitions'],
    /3 partitions, and 12 /u,
  ),
  planted(
    'a topic with another retention',
    (garden) => topic(garden, { retentionMs: 60_000 }),
    ['kafka.retention'],
    /60000 are declared/u,
  ),
  ...(
    [
      ['is compacted', { 'cleanup.policy': 'compact' }, 'kafka.compaction', /cleanup.policy=compact, /u],
      [
        'is compacted too',
        { 'cleanup.policy': 'compact,delete' },
        'kafka.compaction',
        /cleanup.policy=compact,delete/u,
      ],
      ['keeps next to nothing', { 'retention.bytes': '1' }, 'kafka.retention-bytes', /keeps 1 bytes of a partition/u],
      [
        'takes no event',
        { 'max.message.bytes': '100' },
        'kafka.message-size',
        /100 bytes at once, less than one event/u,
      ],
      [
        'takes few events at once',
        { 'max.message.bytes': '10000' },
        'kafka.message-size',
        /10000 bytes at once, and /u,
      ],
    ] as const
  ).map(([what, change, check, words]) =>
    planted(`a topic that ${what}`, (garden) => changedTopic(garden, change), [check], words),
  ),
  planted(
    'a topic that waits for more replicas than are in sync',
    (garden) => topic(garden, { name: garden.slowTopic }),
    ['kafka.replicas'],
    /1 of 1 replicas in sync, and min.insync.replicas is 2/u,
  ),
];

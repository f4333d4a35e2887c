import type { TopicDeclaration } from '@parley/events/topics';
import { canary, type Garden } from '../garden.ts';
import { type Fault, nowhere, planted } from '../planted.ts';
import { replacing, rewritingProxy } from '../proxies.ts';

const topic = (garden: Garden, change: Partial<TopicDeclaration>): Fault => ({
  unit: { publishes: [{ ...garden.topic, ...change }] },
});

export const kafkaFaults = [
  planted(
    'a login for a listener of Kafka without one',
    () => ({ env: { KAFKA_SASL_MECHANISM: 'plain', KAFKA_USERNAME: 'gardener', KAFKA_PASSWORD: canary } }),
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
  planted(
    'a topic that waits for more replicas than are in sync',
    (garden) => topic(garden, { name: garden.slowTopic }),
    ['kafka.replicas'],
    /1 of 1 replicas in sync, and min.insync.replicas is 2/u,
  ),
];

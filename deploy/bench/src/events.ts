import { once } from 'node:events';
import { kafkaEventBus } from '@parley/events/kafka-event-bus';
import { makeTopics } from '@parley/events/kafka-topics';
import { createLogger } from '@parley/kernel/telemetry/log';
import { openDatabase } from '@parley/postgres/database/open';
import { outbox } from '@parley/postgres/outbox/outbox';
import { outboxRelay } from '@parley/postgres/outbox/relay';
import { type Figure, figure, medianOf, oneByOne, quantile } from './figures.ts';
import { type BenchOptions, startChild } from './processes.ts';

/** A topic with as many partitions as the mesh's own topics. */
export const topic = { name: 'bench-happened', partitions: 12, retentionMs: 3_600_000 };
export const eventType = 'bench.happened.v1';

/** Opens a database that has only the internal tables (outbox, inbox and jobs), with a pool as large as a unit's. */
export function internalTablesOnly(url: string, name: string) {
  return openDatabase({ url, schema: { name, tables: {}, migrations: [] }, poolSize: 4 });
}

/** Returns the time in ms of a monotonic clock that all processes of one machine share. */
export function sharedNowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Events per transaction in the throughput test; many, so that the test does not measure the commits of the database. */
const perTransaction = 100;

/**
 * Measures how long an event takes from its commit to its effect in another process, and how many events per second take effect. Events
 * pass through the outbox, the relay, Kafka and the consumer. Both figures are measured twice: without an inbox, and with an inbox mark
 * that is committed for each event. The relay runs in this process.
 */
export async function eventFigures(url: string, brokerList: string, options: BenchOptions): Promise<Figure[]> {
  const [single, flood] = options.short ? [3, 200] : [100, 6_000];
  const brokers = brokerList.split(',');
  await makeTopics([topic], { brokers });
  const log = createLogger('bench', { LOG_LEVEL: 'fatal' });
  const database = internalTablesOnly(url, 'bench_relay');
  await database.migrate();
  database.registry.topics.set(topic.name, [eventType]);
  const bus = kafkaEventBus({ brokers, log });
  const relay = outboxRelay({ database, bus, log });
  const consumer = await startChild('event-consumer.ts', { DATABASE_URL: url, KAFKA_BROKERS: brokerList });
  const taken = new Set<number>();
  let lastAt = 0;
  consumer.child.on('message', ({ numbers, atMs }: { numbers: number[]; atMs: number }) => {
    for (const number of numbers) taken.add(number);
    lastAt = atMs;
  });
  let next = 0;

  /** Commits events. @returns the time of the commit */
  async function commit(count: number, hasEffect: boolean): Promise<number> {
    const events = Array.from({ length: count }, () => {
      const data = Buffer.from(JSON.stringify({ number: next++, hasEffect }));
      return { topic: topic.name, type: eventType, key: String(next % 500), data };
    });
    await database.transact(1, (db) => outbox(db).append(...events));
    return sharedNowMs();
  }

  /** Waits until all committed events are handled. @returns the time at which the last one was handled */
  async function allTaken(): Promise<number> {
    while (taken.size < next) await once(consumer.child, 'message');
    return lastAt;
  }

  async function latency(): Promise<number> {
    const committedAt = await commit(1, true);
    return (await allTaken()) - committedAt;
  }

  async function perSecond(hasEffect: boolean): Promise<number> {
    const beganAt = sharedNowMs();
    await oneByOne(flood / perTransaction, () => commit(perTransaction, hasEffect));
    return (flood * 1_000) / ((await allTaken()) - beganAt);
  }

  const round = async () => ({
    times: await oneByOne(single, latency),
    received: await perSecond(false),
    done: await perSecond(true),
  });
  try {
    await relay.start();
    await round(); // warm-up
    const rounds = await oneByOne(options.rounds, round);
    const at = (q: number) => medianOf(rounds, ({ times }) => quantile(times, q));
    const received = medianOf(rounds, (each) => each.received);
    const done = medianOf(rounds, (each) => each.done);
    return [
      figure('commit of an event until its effect, p50', at(0.5), 'ms', { goal: 25 }),
      figure('commit of an event until its effect, p99', at(0.99), 'ms'),
      figure('events from outbox to consumer', received, '/s', { atLeast: 3_000 }),
      figure('the same with an effect committed for each', done, '/s'),
    ];
  } finally {
    for (const part of [relay, consumer]) await part.stop();
    for (const part of [bus, database]) await part.close();
  }
}

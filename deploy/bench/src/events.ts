import { join } from 'node:path';
import { openDatabase } from '@parley/chassis/database/open';
import type { SchemaDeclaration } from '@parley/chassis/database/types';
import { kafkaEventBus } from '@parley/chassis/events/kafka-event-bus';
import { makeTopics } from '@parley/chassis/events/kafka-topics';
import { outbox } from '@parley/chassis/events/outbox';
import { outboxRelay } from '@parley/chassis/events/relay';
import { createLogger } from '@parley/chassis/log';
import type { Measuring } from './bench.ts';
import { type Figure, figure, medianOf, oneByOne, quantile } from './figures.ts';
import { startChild } from './processes.ts';

/** As many partitions as the mesh's own topics have. */
export const topic = { name: 'bench-happened', partitions: 12, retentionMs: 3_600_000 };
export const eventType = 'bench.happened.v1';

/** What the consumer tells: which events are done with, and when the last of them was, by `sharedNowMs`. */
export interface Taken {
  numbers: number[];
  atMs: number;
}

/** A database with nothing but the plumbing, and as many connections as a unit has. */
export function plumbingOnly(url: string, name: string) {
  const schema: SchemaDeclaration = { name, tables: {}, migrations: [] };
  return openDatabase({ url, schema, poolSize: 4 });
}

/** Milliseconds of a clock that all processes of one machine share and that never jumps. */
export function sharedNowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

const keys = 500;
/** Events of one transaction in a flood, so that what is measured is not how fast a database commits. */
const perTransaction = 100;

/**
 * How soon after its commit an event has taken effect in another process, and how many a second come there: by outbox, relay,
 * Kafka and consumer, without and with the commit of an inbox mark for each. The relay is in this process, the consumer in
 * one of its own.
 */
export async function eventFigures(
  url: string,
  KAFKA_BROKERS: string,
  { rounds, short }: Pick<Measuring, 'rounds' | 'short'>,
): Promise<Figure[]> {
  const [single, flood] = short ? [3, 200] : [100, 6_000];
  const brokers = KAFKA_BROKERS.split(',');
  await makeTopics([topic], { brokers });
  const log = createLogger('bench', { LOG_LEVEL: 'fatal' });
  const database = plumbingOnly(url, 'bench_relay');
  await database.migrate();
  const bus = kafkaEventBus({ brokers, log });
  const relay = outboxRelay({ database, bus, log });
  const env = { DATABASE_URL: url, KAFKA_BROKERS, LOG_LEVEL: 'fatal' };
  const consumer = await startChild(join(import.meta.dirname, 'beside/event-consumer.ts'), { env });
  const times = new Map<number, number>();
  let taken = Promise.withResolvers<void>();
  consumer.onMessage((message) => {
    const { numbers, atMs } = message as Taken;
    for (const number of numbers) times.set(number, atMs);
    taken.resolve();
    taken = Promise.withResolvers();
  });
  let next = 0;

  /** Answers when it was committed. */
  async function commit(count: number, hasEffect: boolean): Promise<number> {
    const events = Array.from({ length: count }, () => {
      const number = next++;
      const data = Buffer.from(JSON.stringify({ number, hasEffect }));
      return { topic: topic.name, type: eventType, key: String(number % keys), data };
    });
    await database.transact(1, (db) => outbox(db).append(...events));
    return sharedNowMs();
  }

  /** Resolves when all that were committed are done with, with the time of the last one. */
  async function allTaken(): Promise<number> {
    while (times.size < next) await taken.promise;
    return Math.max(...Array.from({ length: Math.min(next, flood) }, (_, n) => times.get(next - 1 - n) ?? 0));
  }

  async function latency(): Promise<number> {
    const committedAt = await commit(1, true);
    await allTaken();
    return (times.get(next - 1) ?? Number.NaN) - committedAt;
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
    const all = await oneByOne(rounds, round);
    const at = (q: number) => medianOf(all, (each) => quantile(each.times, q));
    return [
      figure('mesh: commit of an event until its effect, p50', at(0.5), 'ms', { goal: 25 }),
      figure('mesh: commit of an event until its effect, p99', at(0.99), 'ms'),
      figure(
        'mesh: events from outbox to consumer',
        medianOf(all, (each) => each.received),
        '/s',
        { atLeast: 3_000 },
      ),
      figure(
        'mesh: the same with an effect committed for each',
        medianOf(all, (each) => each.done),
        '/s',
      ),
    ];
  } finally {
    await relay.stop();
    await consumer.stop();
    await bus.close();
    await database.close();
  }
}

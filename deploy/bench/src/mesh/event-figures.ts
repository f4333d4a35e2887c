import { openDatabase } from '@parley/chassis/database/open';
import { kafkaEventBus } from '@parley/chassis/events/kafka-event-bus';
import { makeTopics } from '@parley/chassis/events/kafka-topics';
import type { OutgoingEvent } from '@parley/chassis/events/outbox';
import { outbox } from '@parley/chassis/events/outbox';
import { outboxRelay } from '@parley/chassis/events/relay';
import type { Figure } from '../figure.ts';
import { type Child, startChild } from '../gateway/child.ts';
import { quietLog } from '../quiet-log.ts';
import { median, quantile } from '../statistics.ts';
import {
  encode,
  eventType,
  type Happening,
  plumbingOnly,
  poolSize,
  sharedNowMs,
  type Taken,
  tenantId,
  topic,
} from './bench-events.ts';

const keys = 500;
/** Events of one transaction in a flood, so that what is measured is not how fast a database commits. */
const perTransaction = 100;

export interface EventOptions {
  databaseUrl: string;
  brokers: string[];
  rounds: number;
  short: boolean;
}

/**
 * How soon after its commit an event has taken effect in another process, and how many a second come there: by outbox, relay,
 * Kafka and consumer, without and with the commit of an inbox mark for each. The relay is in this process, the consumer in
 * one of its own.
 */
export async function eventFigures({ databaseUrl: url, brokers, rounds, short }: EventOptions): Promise<Figure[]> {
  const [single, flood] = short ? [3, 200] : [100, 6_000];
  await makeTopics([topic], { brokers });
  const log = quietLog();
  const database = openDatabase({ url, schema: plumbingOnly('bench_relay'), poolSize });
  await database.migrate();
  const bus = kafkaEventBus({ brokers, log });
  const relay = outboxRelay({ database, bus, log });
  const consumer = await startChild<object>('../mesh/event-consumer.ts', {
    DATABASE_URL: url,
    KAFKA_BROKERS: brokers.join(','),
  });
  const taken = watch(consumer);
  let next = 0;
  /** Answers when it was committed. */
  async function commit(count: number, hasEffect: boolean): Promise<number> {
    const events = Array.from({ length: count }, () => event({ number: next++, hasEffect }));
    await database.transact(tenantId, (db) => outbox(db).append(...events));
    return sharedNowMs();
  }

  /** One after the other, each when the one before it is through. */
  async function latencies(count: number): Promise<number[]> {
    const times: number[] = [];
    for (let n = 0; n < count; n += 1) {
      const number = next;
      const committedAt = await commit(1, true);
      times.push((await taken.at(number)) - committedAt);
    }
    return times;
  }

  async function perSecond(count: number, hasEffect: boolean): Promise<number> {
    const beganAt = sharedNowMs();
    const wanted = taken.count() + count;
    for (let n = 0; n < count; n += perTransaction) await commit(Math.min(perTransaction, count - n), hasEffect);
    return (count * 1_000) / ((await taken.until(wanted)) - beganAt);
  }

  try {
    await relay.start();
    await latencies(single);
    for (const hasEffect of [false, true]) await perSecond(flood, hasEffect);
    const p50: number[] = [];
    const p99: number[] = [];
    const received: number[] = [];
    const done: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const times = await latencies(single);
      p50.push(quantile(times, 0.5));
      p99.push(quantile(times, 0.99));
      received.push(await perSecond(flood, false));
      done.push(await perSecond(flood, true));
    }
    return [
      { name: 'mesh: commit of an event until its effect, p50', value: median(p50), unit: 'ms', goal: 25 },
      { name: 'mesh: commit of an event until its effect, p99', value: median(p99), unit: 'ms' },
      { name: 'mesh: events from outbox to consumer', value: median(received), unit: '/s', atLeast: 3_000 },
      { name: 'mesh: the same with an effect committed for each', value: median(done), unit: '/s' },
    ];
  } finally {
    await relay.stop();
    await consumer.stop();
    await bus.close();
    await database.close();
  }
}

function event(happening: Happening): OutgoingEvent {
  return { topic: topic.name, type: eventType, key: String(happening.number % keys), data: encode(happening) };
}

/** When which event was done with, as the consumer tells. */
function watch(consumer: Pick<Child<unknown>, 'onMessage'>) {
  const times = new Map<number, number>();
  let changed = Promise.withResolvers<void>();
  let last = 0;
  consumer.onMessage((message) => {
    const { numbers, atMs } = message as Taken;
    for (const number of numbers) times.set(number, atMs);
    last = atMs;
    changed.resolve();
    changed = Promise.withResolvers();
  });
  return {
    count: () => times.size,
    async at(number: number): Promise<number> {
      for (;;) {
        const time = times.get(number);
        if (time !== undefined) return time;
        await changed.promise;
      }
    },
    /** Resolves when so many were, with the time of the last one. */
    async until(count: number): Promise<number> {
      while (times.size < count) await changed.promise;
      return last;
    },
  };
}

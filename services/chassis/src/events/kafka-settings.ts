import { list, positiveInt } from '../config.ts';
import type { Logger } from '../log.ts';
import type { EventBus } from './event-bus.ts';
import { kafkaEventBus } from './kafka-event-bus.ts';

/** `KAFKA_BROKERS`: `host:port` of one broker or more, separated by commas. */
export const kafkaBrokers = list.refine(
  (brokers) =>
    brokers.length > 0 && brokers.every((broker) => /^[^\s/:]+:\d{1,5}$|^\[[\da-f:]+\]:\d{1,5}$/iu.test(broker)),
  'is no list of host:port',
);

/** What a process reads to reach Kafka. Without `KAFKA_BROKERS` there is none. */
export const kafkaSettings = {
  KAFKA_BROKERS: kafkaBrokers.optional(),
  /** A consumer that shows no sign of life, or no progress, for so many ms is made anew. */
  KAFKA_STALLED_AFTER_MS: positiveInt.default(60_000),
};

interface KafkaSettings {
  KAFKA_BROKERS?: string[] | undefined;
  KAFKA_STALLED_AFTER_MS: number;
}

/** The event bus on the brokers that the settings name; undefined where they name none. */
export function kafkaBusOf(settings: KafkaSettings, log: Logger): EventBus | undefined {
  const { KAFKA_BROKERS: brokers, KAFKA_STALLED_AFTER_MS: stalledAfterMs } = settings;
  // A unit serves while its consumers join: the group may wait 10 s for a member that died, and that is no reason to be down.
  return brokers && kafkaEventBus({ brokers, stalledAfterMs, joinTimeoutMs: 0, log });
}

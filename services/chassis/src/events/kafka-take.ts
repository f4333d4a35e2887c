import { setTimeout as delay } from 'node:timers/promises';
import type { KafkaMessage } from 'kafkajs';
import type { Logger } from '../log.ts';
import { type AttemptTimes, attemptEvent, type GivenUp } from './attempts.ts';
import type { Envelope } from './envelope.ts';
import { deadLetterTopic, type SubscribeOptions } from './event-bus.ts';
import { isFor, toEnvelope, toLetter } from './kafka-message.ts';
import type { KafkaProducer } from './kafka-producer.ts';

export interface TakenMessage {
  topic: string;
  partition: number;
  message: KafkaMessage;
}

export interface TakeOptions extends AttemptTimes, Omit<SubscribeOptions, 'topics' | 'concurrency'> {
  producer: KafkaProducer;
  log?: Logger | undefined;
}

const firstPauseMs = 200;
const longestPauseMs = 5_000;

/**
 * Handles one message for a group: resolves when its effect is committed or its dead letter is stored, and rejects when
 * `stopped` came first. For as long as the dead letter cannot be stored it is neither.
 */
export async function takeMessage(taken: TakenMessage, options: TakeOptions, stopped: AbortSignal): Promise<void> {
  const { group, log } = options;
  const { topic, message } = taken;
  if (!isFor(group, message)) return;
  const event = readEvent(topic, message);
  const givenUp =
    event instanceof TypeError
      ? { attempts: 0, reason: String(event) }
      : await attemptEvent(event, { ...options, stopped });
  if (!givenUp) return;
  const known = event instanceof TypeError ? {} : { type: event.type, eventId: event.id };
  await storeLetter(taken, givenUp, options, stopped);
  log?.error({ group, topic, ...known, ...givenUp }, 'an event went to the dead letters');
}

/** A message that is no event is nobody's to handle: no attempt would change it. */
function readEvent(topic: string, message: KafkaMessage): Envelope | TypeError {
  try {
    return toEnvelope(topic, message);
  } catch (error) {
    if (error instanceof TypeError) return error;
    throw error;
  }
}

async function storeLetter(
  { topic, partition, message }: TakenMessage,
  givenUp: GivenUp,
  { group, producer, log }: TakeOptions,
  stopped: AbortSignal,
): Promise<void> {
  const facts = { ...givenUp, group, time: new Date(), partition, offset: message.offset };
  const letter = toLetter(message, facts);
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
    try {
      return await producer.send(deadLetterTopic(topic), [letter]);
    } catch (error) {
      log?.error({ err: error, group, topic, pauseMs }, 'a dead letter could not be stored; its event waits');
      if (stopped.aborted) throw error;
    }
    await delay(pauseMs, undefined, { signal: stopped }).catch(() => undefined);
  }
}

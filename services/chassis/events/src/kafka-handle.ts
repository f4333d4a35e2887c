import type { Logger } from '@parley/kernel/telemetry/log';
import { backoff } from '@parley/kernel/timing/backoff';
import { sleep } from '@parley/kernel/timing/timers';
import type { KafkaMessage, Message } from 'kafkajs';
import { type AttemptTimes, attemptEvent, type HandlingFailure } from './attempts.ts';
import { deadLetterTopic, type SubscribeOptions } from './event-bus.ts';
import { type DeadLetterFacts, isForGroup, readEnvelope, toDeadLetter } from './kafka-message.ts';
import { isPermanentError, type KafkaProducer } from './kafka-producer.ts';
import type { Pause } from './keyed-queue.ts';

export interface ReceivedMessage {
  topic: string;
  partition: number;
  message: KafkaMessage;
}

export interface HandleOptions extends AttemptTimes, Omit<SubscribeOptions, 'topics' | 'concurrency'> {
  producer: KafkaProducer;
  log?: Logger | undefined;
}

const pauseAfter = backoff({ firstMs: 200, maxMs: 5_000 });

/**
 * Handles one message for a group: resolves when its effect is committed or its dead letter is stored, and rejects when
 * `stopSignal` aborted before that. Storing the dead letter is retried for as long as it fails.
 */
export async function handleMessage(
  received: ReceivedMessage,
  options: HandleOptions,
  stopSignal: AbortSignal,
  pause: Pause,
): Promise<void> {
  const { group, log, onGivenUp } = options;
  const { topic, message } = received;
  if (!isForGroup(group, message)) return;
  const event = readEnvelope(topic, message); // a TypeError if the message is not an event
  const failure =
    event instanceof TypeError
      ? { attempts: 0, reason: String(event) }
      : await attemptEvent(event, { ...options, stopSignal, pause });
  if (!failure) return;
  const known = event instanceof TypeError ? {} : { type: event.type, eventId: event.id };
  await storeDeadLetter(received, failure, options, stopSignal, pause);
  onGivenUp?.();
  log?.error({ group, topic, ...known, ...failure }, 'event moved to dead letters');
}

async function storeDeadLetter(
  { topic, partition, message }: ReceivedMessage,
  failure: HandlingFailure,
  { group, producer, log }: HandleOptions,
  stopSignal: AbortSignal,
  pause: Pause,
): Promise<void> {
  const facts = { ...failure, group, time: new Date(), topic, partition, offset: message.offset };
  const letters = deadLettersOf(message, facts);
  for (let failures = 0; ; ) {
    const [letter, ...smaller] = letters;
    try {
      return await producer.send(deadLetterTopic(topic), [letter]);
    } catch (error) {
      if (isPermanentError(error) && smaller.length > 0) {
        letters.shift();
        log?.error({ err: error, group, topic }, 'dead letter rejected; storing a smaller one');
        continue;
      }
      failures += 1;
      log?.error({ err: error, group, topic, pauseMs: pauseAfter(failures) }, 'dead letter not stored; will retry');
      if (stopSignal.aborted) throw error;
    }
    await pause(sleep(pauseAfter(failures), stopSignal), stopSignal);
  }
}

/**
 * Returns the dead letter, followed by smaller variants in case the broker rejects it: the facts make a dead letter larger than its event.
 */
function deadLettersOf({ key, value, headers = {} }: KafkaMessage, facts: DeadLetterFacts): [Message, ...Message[]] {
  const note = `(kept without its value of ${value?.length ?? 0} bytes, which the broker refused)`;
  const without = { ...facts, reason: `${facts.reason} ${note}` };
  return [
    toDeadLetter({ key, value, headers }, facts),
    toDeadLetter({ key, value: null, headers }, without),
    toDeadLetter({ key: null, value: null, headers: {} }, without),
  ];
}

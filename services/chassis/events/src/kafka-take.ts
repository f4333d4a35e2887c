import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@parley/kernel/log';
import type { KafkaMessage, Message } from 'kafkajs';
import { type AttemptTimes, attemptEvent, type GivenUp } from './attempts.ts';
import type { Envelope } from './envelope.ts';
import { deadLetterTopic, type SubscribeOptions } from './event-bus.ts';
import { isFor, type LetterFacts, toEnvelope, toLetter } from './kafka-message.ts';
import { isRefusal, type KafkaProducer } from './kafka-producer.ts';
import type { Rest } from './keyed-queue.ts';

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
export async function takeMessage(
  taken: TakenMessage,
  options: TakeOptions,
  stopped: AbortSignal,
  rest: Rest,
): Promise<void> {
  const { group, log } = options;
  const { topic, message } = taken;
  if (!isFor(group, message)) return;
  const event = readEvent(topic, message);
  const givenUp =
    event instanceof TypeError
      ? { attempts: 0, reason: String(event) }
      : await attemptEvent(event, { ...options, stopped, rest });
  if (!givenUp) return;
  const known = event instanceof TypeError ? {} : { type: event.type, eventId: event.id };
  await storeLetter(taken, givenUp, options, stopped, rest);
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
  rest: Rest,
): Promise<void> {
  const letters = lettersOf(message, { ...givenUp, group, time: new Date(), topic, partition, offset: message.offset });
  for (let pauseMs = firstPauseMs; ; ) {
    const [letter, ...smaller] = letters;
    try {
      return await producer.send(deadLetterTopic(topic), [letter]);
    } catch (error) {
      if (isRefusal(error) && smaller.length > 0) {
        letters.shift();
        log?.error({ err: error, group, topic }, 'a dead letter was refused; less of it is stored');
        continue;
      }
      log?.error({ err: error, group, topic, pauseMs }, 'a dead letter could not be stored; its event waits');
      if (stopped.aborted) throw error;
    }
    await rest(
      delay(pauseMs, undefined, { signal: stopped }).catch(() => undefined),
      stopped,
    );
    pauseMs = Math.min(longestPauseMs, pauseMs * 2);
  }
}

/** The letter, and what is stored of it where the broker refuses that: with its facts it is longer than the event was. */
function lettersOf({ key, value, headers = {} }: KafkaMessage, facts: LetterFacts): [Message, ...Message[]] {
  const note = `(kept without its value of ${value?.length ?? 0} bytes, which the broker refused)`;
  const without = { ...facts, reason: `${facts.reason} ${note}` };
  return [
    toLetter({ key, value, headers }, facts),
    toLetter({ key, value: null, headers }, without),
    toLetter({ key: null, value: null, headers: {} }, without),
  ];
}

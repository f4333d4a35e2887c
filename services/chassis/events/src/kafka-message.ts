import type { IHeaders, KafkaMessage, Message } from 'kafkajs';
import type { HandlingFailure } from './attempts.ts';
import type { Envelope } from './envelope.ts';

/**
 * Events in Kafka are CloudEvents 1.0 in binary mode: the value is the protobuf message, the key is the aggregate's id,
 * everything else is headers. Other headers are ignored.
 */
const headerNames = {
  id: 'ce_id',
  type: 'ce_type',
  source: 'ce_source',
  time: 'ce_time',
  version: 'ce_specversion',
  subject: 'ce_subject',
  tenantId: 'ce_tenantid',
  traceparent: 'traceparent',
  contentType: 'content-type',
};

/** Header of a replayed event. It names the only group that handles the event; all other groups skip it. */
const onlyGroup = 'parley_only_group';

/** The headers that a dead letter has in addition to the event's headers. */
const deadLetterHeaders = {
  group: 'deadletter_group',
  attempts: 'deadletter_attempts',
  reason: 'deadletter_reason',
  time: 'deadletter_time',
  topic: 'deadletter_topic',
  partition: 'deadletter_partition',
  offset: 'deadletter_offset',
};

/** Header of the message that marks a replay in the dead-letter topic: the position of the replayed dead letter, `<partition>:<offset>`. */
const replayedLetter = 'deadletter_replayed';

export function toMessage(event: Envelope): Message {
  const { id, type, source, key, tenantId, time, data, traceparent } = event;
  return {
    key,
    value: Buffer.from(data.buffer, data.byteOffset, data.byteLength),
    headers: {
      [headerNames.version]: '1.0',
      [headerNames.id]: id,
      [headerNames.type]: type,
      [headerNames.source]: source,
      [headerNames.subject]: key,
      [headerNames.time]: time.toISOString(),
      [headerNames.tenantId]: String(tenantId),
      [headerNames.contentType]: 'application/protobuf',
      ...(traceparent !== undefined && { [headerNames.traceparent]: traceparent }),
    },
  };
}

/** Reads the event of a message. If the message is not an event, returns a TypeError that names the missing or malformed header. */
export function readEnvelope(topic: string, message: KafkaMessage): Envelope | TypeError {
  try {
    return toEnvelope(topic, message);
  } catch (error) {
    if (error instanceof TypeError) return error;
    throw error;
  }
}

/**
 * Reads the event of a message.
 * @throws TypeError that names the missing or malformed header if the message is not an event.
 */
export function toEnvelope(topic: string, { key, value, headers }: KafkaMessage): Envelope {
  const required = (name: string): string => {
    const text = headerOf(headers, name);
    if (!text) throw new TypeError(`the header ${name} is missing`);
    return text;
  };
  const time = new Date(required(headerNames.time));
  if (Number.isNaN(time.getTime())) throw new TypeError(`the header ${headerNames.time} is no time`);
  const tenantId = Number(required(headerNames.tenantId));
  if (!Number.isSafeInteger(tenantId) || tenantId < 1)
    throw new TypeError(`the header ${headerNames.tenantId} is no id`);
  if (value === null) throw new TypeError('it has no value');
  const traceparent = headerOf(headers, headerNames.traceparent);
  return {
    id: required(headerNames.id),
    topic,
    type: required(headerNames.type),
    source: required(headerNames.source),
    key: key?.toString() ?? required(headerNames.subject),
    tenantId,
    time,
    data: new Uint8Array(value),
    ...(traceparent !== undefined && { traceparent }),
  };
}

/** Reports whether this group handles the message: only a replayed event may be for another group. */
export function isForGroup(group: string, { headers }: KafkaMessage): boolean {
  const only = headerOf(headers, onlyGroup);
  return only === undefined || only === group;
}

export interface DeadLetterFacts extends HandlingFailure {
  group: string;
  time: Date;
  /** The event's topic. */
  topic: string;
  /** The event's partition of the topic. */
  partition: number;
  /** The event's offset in the partition. */
  offset: string;
}

/** Returns the dead letter of a message: the unchanged message with the facts of the failure as further headers. */
export function toDeadLetter(
  { key, value, headers }: Pick<KafkaMessage, 'key' | 'value' | 'headers'>,
  facts: DeadLetterFacts,
): Message {
  const { group, attempts, reason, time, topic, partition, offset } = facts;
  return {
    key,
    value,
    headers: {
      ...headers,
      [deadLetterHeaders.group]: group,
      [deadLetterHeaders.attempts]: String(attempts),
      [deadLetterHeaders.reason]: reason,
      [deadLetterHeaders.time]: time.toISOString(),
      [deadLetterHeaders.topic]: topic,
      [deadLetterHeaders.partition]: String(partition),
      [deadLetterHeaders.offset]: offset,
    },
  };
}

/** Returns the facts of a dead letter; undefined for any other message. */
export function deadLetterFacts({ headers }: KafkaMessage): DeadLetterFacts | undefined {
  const group = headerOf(headers, deadLetterHeaders.group);
  if (group === undefined) return undefined;
  return {
    group,
    attempts: Number(headerOf(headers, deadLetterHeaders.attempts) ?? 0),
    reason: headerOf(headers, deadLetterHeaders.reason) ?? '',
    time: new Date(headerOf(headers, deadLetterHeaders.time) ?? 0),
    topic: headerOf(headers, deadLetterHeaders.topic) ?? '',
    partition: Number(headerOf(headers, deadLetterHeaders.partition) ?? -1),
    offset: headerOf(headers, deadLetterHeaders.offset) ?? '',
  };
}

/** Returns the event of a dead letter, to be published again for the group that failed. */
export function toReplay({ key, value, headers }: KafkaMessage, group: string): Message {
  const added = new Set(Object.values(deadLetterHeaders));
  const own: IHeaders = Object.fromEntries(Object.entries(headers ?? {}).filter(([name]) => !added.has(name)));
  return { key, value, headers: { ...own, [onlyGroup]: group } };
}

/** Makes the message of the dead-letter topic that marks the dead letter at `position` as replayed. */
export function toReplayMark(key: Buffer | null, position: string, time: Date): Message {
  return { key, value: null, headers: { [replayedLetter]: position, [deadLetterHeaders.time]: time.toISOString() } };
}

/** Returns the position of the dead letter that this message marks as replayed; undefined for other messages. */
export function replayMark({ headers }: KafkaMessage): string | undefined {
  return headerOf(headers, replayedLetter);
}

/** The first value of a repeated header counts. */
function headerOf(headers: IHeaders | undefined, name: string): string | undefined {
  const value = headers?.[name];
  return (Array.isArray(value) ? value[0] : value)?.toString();
}

import type { IHeaders, KafkaMessage, Message } from 'kafkajs';
import type { GivenUp } from './attempts.ts';
import type { Envelope } from './envelope.ts';

/**
 * Events as Kafka carries them: CloudEvents 1.0 in binary mode. The value is the protobuf message alone, the key is the
 * aggregate's id, and the facts are headers. Headers that are not named here are passed over.
 */
const names = {
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

/** A replayed event is for the group that gave it up; all others pass it over. */
const onlyFor = 'parley_only_group';

/** The headers that a dead letter has beside those of the event. */
const deadLetterHeaders = {
  group: 'deadletter_group',
  attempts: 'deadletter_attempts',
  reason: 'deadletter_reason',
  time: 'deadletter_time',
  topic: 'deadletter_topic',
  partition: 'deadletter_partition',
  offset: 'deadletter_offset',
};

/** On a message that is no letter itself: the place of the letter that was replayed, `<partition>:<offset>`. */
const replayedLetter = 'deadletter_replayed';

export function toMessage(event: Envelope): Message {
  const { id, type, source, key, tenantId, time, data, traceparent } = event;
  return {
    key,
    value: Buffer.from(data.buffer, data.byteOffset, data.byteLength),
    headers: {
      [names.version]: '1.0',
      [names.id]: id,
      [names.type]: type,
      [names.source]: source,
      [names.subject]: key,
      [names.time]: time.toISOString(),
      [names.tenantId]: String(tenantId),
      [names.contentType]: 'application/protobuf',
      ...(traceparent !== undefined && { [names.traceparent]: traceparent }),
    },
  };
}

/** @throws TypeError naming what is missing or wrong: such a message is no event. */
export function toEnvelope(topic: string, { key, value, headers }: KafkaMessage): Envelope {
  const required = (name: string): string => {
    const text = headerOf(headers, name);
    if (!text) throw new TypeError(`the header ${name} is missing`);
    return text;
  };
  const time = new Date(required(names.time));
  if (Number.isNaN(time.getTime())) throw new TypeError(`the header ${names.time} is no time`);
  const tenantId = Number(required(names.tenantId));
  if (!Number.isSafeInteger(tenantId) || tenantId < 1) throw new TypeError(`the header ${names.tenantId} is no id`);
  if (value === null) throw new TypeError('it has no value');
  const traceparent = headerOf(headers, names.traceparent);
  return {
    id: required(names.id),
    topic,
    type: required(names.type),
    source: required(names.source),
    key: key?.toString() ?? required(names.subject),
    tenantId,
    time,
    data: new Uint8Array(value),
    ...(traceparent !== undefined && { traceparent }),
  };
}

/** Whether it is meant for this group: all are, but for replayed ones. */
export function isFor(group: string, { headers }: KafkaMessage): boolean {
  const only = headerOf(headers, onlyFor);
  return only === undefined || only === group;
}

export interface LetterFacts extends GivenUp {
  group: string;
  time: Date;
  /** Where the event stands: its topic, partition and offset. */
  topic: string;
  partition: number;
  offset: string;
}

/** The message as it was, with the reason beside it. */
export function toLetter(
  { key, value, headers }: Pick<KafkaMessage, 'key' | 'value' | 'headers'>,
  facts: LetterFacts,
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

/** What a dead letter says of itself; undefined for a message that is none. */
export function letterFacts({ headers }: KafkaMessage): LetterFacts | undefined {
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

/** The event of a dead letter once more, for the group alone that gave it up. */
export function toReplay({ key, value, headers }: KafkaMessage, group: string): Message {
  const ofLetter = new Set(Object.values(deadLetterHeaders));
  const own: IHeaders = Object.fromEntries(Object.entries(headers ?? {}).filter(([name]) => !ofLetter.has(name)));
  return { key, value, headers: { ...own, [onlyFor]: group } };
}

/** Says in the dead-letter topic that the letter at this place was replayed. */
export function toReplayMark(key: Buffer | null, place: string, time: Date): Message {
  return { key, value: null, headers: { [replayedLetter]: place, [deadLetterHeaders.time]: time.toISOString() } };
}

/** The place of the letter that this message says was replayed. */
export function replayMark({ headers }: KafkaMessage): string | undefined {
  return headerOf(headers, replayedLetter);
}

/** A header that stands there more than once counts by its first value. */
function headerOf(headers: IHeaders | undefined, name: string): string | undefined {
  const value = headers?.[name];
  return (Array.isArray(value) ? value[0] : value)?.toString();
}

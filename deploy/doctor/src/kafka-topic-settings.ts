import { maxRequestBytes } from '@parley/events/kafka-producer';
import type { TopicState } from '@parley/events/kafka-topics';
import type { TopicDeclaration } from '@parley/events/topics';
import { eventSettings } from '@parley/kernel/settings/shared-settings';
import { type Outcome, warning, wrong } from './outcome.ts';

const settings = [eventSettings.kafka.brokers.name];
/** Upper bound for the size of an event with its headers. Events are small, because they contain only ids and times. */
const largestEventBytes = 4_096;
/** A topic that keeps fewer bytes than this may delete events too early. This size is enough for several hundred thousand events. */
const minKeptBytes = 100_000_000;

/** Checks the settings that determine how long a topic keeps events and how large events may be. */
export function topicSettingsOutcomes(
  { name, retentionMs: declaredMs }: Pick<TopicDeclaration, 'name' | 'retentionMs'>,
  { retentionMs, cleanupPolicy, retentionBytes, maxMessageBytes }: TopicState,
): Outcome[] {
  const outcomes: Outcome[] = [];
  if (cleanupPolicy !== undefined && cleanupPolicy !== 'delete') {
    const found = `${name} has cleanup.policy=${cleanupPolicy}, and compaction drops events that units have not handled`;
    const change = 'Run `scripts/topics`, which sets cleanup.policy=delete.';
    outcomes.push(wrong('kafka.compaction', settings, found, change));
  }
  if (retentionMs !== undefined && retentionMs !== declaredMs) {
    const found = `${name} keeps events for ${retentionMs} ms, and ${declaredMs} are declared`;
    outcomes.push(warning('kafka.retention', settings, found, 'Run `scripts/topics`, which sets the retention.'));
  }
  if (retentionBytes !== undefined && retentionBytes >= 0 && retentionBytes < minKeptBytes) {
    const found = `${name} keeps ${retentionBytes} bytes of a partition, so events go before their time`;
    const change = `Set its retention.bytes to -1, or to ${minKeptBytes} or more.`;
    outcomes.push(warning('kafka.retention-bytes', settings, found, change));
  }
  if (maxMessageBytes !== undefined && maxMessageBytes < maxRequestBytes) {
    const found =
      maxMessageBytes < largestEventBytes
        ? `${name} takes ${maxMessageBytes} bytes at once, less than one event may have`
        : `${name} takes ${maxMessageBytes} bytes at once, and units send up to ${maxRequestBytes}: after an outage they are slow`;
    const judged = maxMessageBytes < largestEventBytes ? wrong : warning;
    const change = `Set its max.message.bytes to ${2 * maxRequestBytes} or more.`;
    outcomes.push(judged('kafka.message-size', settings, found, change));
  }
  return outcomes;
}

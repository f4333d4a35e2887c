import type { ValuesOf } from '@parley/kernel/settings/settings';
import type { eventSettings } from '@parley/kernel/settings/shared-settings';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { EventBus } from './event-bus.ts';
import { kafkaEventBus } from './kafka-event-bus.ts';

/** Returns the event bus on the configured brokers; undefined if no brokers are configured. */
export function kafkaBusOf(
  { brokers, ...connection }: ValuesOf<typeof eventSettings.kafka>,
  log: Logger,
): EventBus | undefined {
  // The start does not wait for partitions: the group may wait 10 s for a dead member, and the unit can already serve requests.
  return brokers && kafkaEventBus({ brokers, ...connection, joinTimeoutMs: 0, log });
}

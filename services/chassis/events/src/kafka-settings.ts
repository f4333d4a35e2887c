import type { ValuesOf } from '@parley/kernel/settings/settings';
import type { eventSettings } from '@parley/kernel/settings/shared-settings';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { EventBus } from './event-bus.ts';
import { kafkaEventBus } from './kafka-event-bus.ts';

/** The event bus on the brokers that the settings name; undefined where they name none. */
export function kafkaBusOf(
  { brokers, ...connection }: ValuesOf<typeof eventSettings.kafka>,
  log: Logger,
): EventBus | undefined {
  // Start does not wait for partitions: the group may wait 10 s for a dead member, and the unit can serve meanwhile.
  return brokers && kafkaEventBus({ brokers, ...connection, joinTimeoutMs: 0, log });
}

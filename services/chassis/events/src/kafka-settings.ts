import type { Logger } from '@parley/kernel/log';
import type { ValuesOf } from '@parley/kernel/settings';
import type { processSettings } from '@parley/kernel/shared-settings';
import type { EventBus } from './event-bus.ts';
import { kafkaEventBus } from './kafka-event-bus.ts';

/** The event bus on the brokers that the settings name; undefined where they name none. */
export function kafkaBusOf(
  { brokers, stalledAfterMs }: ValuesOf<typeof processSettings.kafka>,
  log: Logger,
): EventBus | undefined {
  // Start does not wait for partitions: the group may wait 10 s for a dead member, and the unit can serve meanwhile.
  return brokers && kafkaEventBus({ brokers, stalledAfterMs, joinTimeoutMs: 0, log });
}

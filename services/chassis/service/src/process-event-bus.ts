import type { EventBus } from '@parley/events/event-bus';
import { inProcessEventBus } from '@parley/events/in-process-event-bus';
import { kafkaBusOf } from '@parley/events/kafka-settings';
import { type Environment, readSettings } from '@parley/kernel/settings/config';
import { eventSettings } from '@parley/kernel/settings/shared-settings';
import { createLogger } from '@parley/kernel/telemetry/log';

/**
 * Makes the event bus of a service in a separate process: Kafka (`KAFKA_BROKERS`), which all processes share and production requires.
 * `scripts/topics` creates the topics beforehand. Without brokers the bus is in memory, for a unit that runs alone.
 * @throws SettingsError naming every setting that is missing or wrong.
 */
export function processEventBus(env: Environment): EventBus {
  const { kafka } = readSettings(env, eventSettings);
  return (
    kafkaBusOf(kafka, createLogger('kafka')) ??
    // This bus is used only outside production: in production its events would count as delivered without reaching any other process.
    inProcessEventBus({
      deadLetters: { append: () => Promise.reject(new Error('An in-memory bus keeps no dead letters')) },
    })
  );
}

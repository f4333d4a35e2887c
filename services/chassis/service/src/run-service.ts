import type { Environment } from '@parley/kernel/settings/config';
import type { UnitConfig } from '@parley/unit/declaration';
import { runProcess } from '@parley/unit/run-unit';
import { connectService } from './connect-service.ts';
import { usesEvents } from './declaration.ts';
import type { Service } from './service.ts';

/** Runs a service in this process until a signal ends it. A service's `main.ts` only calls this function. */
export async function runService<Config extends UnitConfig>(
  service: Service<string, Config, unknown>,
  env: Environment = process.env,
): Promise<void> {
  // The event bus is imported only if it is used, because loading the Kafka client takes a while.
  const bus = usesEvents(service) ? await import('./process-event-bus.ts') : undefined;
  const needs = { schema: service.schema?.name, events: bus?.processEventBus, files: service.files };
  await runProcess(service, (read) => connectService(read, needs), env);
}

import type { Environment } from '@parley/kernel/config';
import type { UnitConfig } from '@parley/unit/declaration';
import { runProcess } from '@parley/unit/run-unit';
import { connectService } from './connect-service.ts';
import type { Service } from './service.ts';

/** Runs a service in this process until a signal ends it; the whole of its `main.ts`. */
export function runService<Config extends UnitConfig>(
  service: Service<string, Config, unknown>,
  env: Environment = process.env,
): Promise<void> {
  return runProcess(service, (read) => connectService(read, service.schema?.name), env);
}

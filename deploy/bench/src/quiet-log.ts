import { createLogger, type Logger } from '@parley/chassis/log';

/** For what runs in the bench's own process, whose output is the table. */
export function quietLog(): Logger {
  const log = createLogger('bench');
  log.level = 'fatal';
  return log;
}

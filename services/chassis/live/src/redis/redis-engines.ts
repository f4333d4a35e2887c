import type { Part } from '@parley/kernel/processes/unit';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { EventLog } from '../event-log/event-log.ts';
import { redisEventLog } from '../event-log/redis-event-log.ts';
import type { KeyValue } from '../key-value/key-value.ts';
import { redisKeyValue } from '../key-value/redis-key-value.ts';
import { redisConnection } from './redis-connection.ts';

/** The Redis engines of one process, on one connection. They work once `start` was called. */
export function redisEngines(url: string, log: Logger): Part & { keyValue: KeyValue; eventLog: EventLog } {
  const connection = redisConnection({ url, log });
  const keyValue = redisKeyValue(connection);
  const eventLog = redisEventLog(connection);
  return {
    name: 'redis',
    keyValue,
    eventLog,
    start: () => connection.start(),
    async stop() {
      await Promise.all([eventLog.close(), keyValue.close()]);
      await connection.stop();
    },
    ready: () => connection.ready(),
  };
}

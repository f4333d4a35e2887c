import { leftOut } from '@parley/testing/left-out';
import type { ExecutionContext } from 'ava';
import {
  type RedisConnection,
  type RedisConnectionOptions,
  redisConnection,
} from '../../src/redis/redis-connection.ts';

/** The URL of the Redis of the tests. Its login has access to `parley:*` and may not run dangerous commands. */
export const redisUrl = process.env.TEST_REDIS_URL ?? '';

/** Declares tests that need Redis. Without Redis they are skipped; if the variable `CI` is set, this counts as a failure. */
export function redisTests(what: string, declare: () => void): void {
  if (redisUrl !== '') return declare();
  leftOut(`${what} - left out: TEST_REDIS_URL names no Redis`);
}

/** A connection for one replica, with a long timeout, since many tests run on few cores at once. */
export function testConnection(options: Partial<RedisConnectionOptions> = {}): RedisConnection {
  return redisConnection({ url: redisUrl, timeoutMs: 10_000, ...options });
}

/** A connection of one replica, stopped after the test. */
export async function replica(
  t: ExecutionContext,
  options: Partial<RedisConnectionOptions> = {},
): Promise<RedisConnection> {
  const connection = testConnection(options);
  t.teardown(() => connection.stop());
  await connection.start();
  return connection;
}

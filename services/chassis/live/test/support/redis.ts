import test, { type ExecutionContext } from 'ava';
import {
  type RedisConnection,
  type RedisConnectionOptions,
  redisConnection,
} from '../../src/redis/redis-connection.ts';

/** The Redis that tests use, by a login that reaches `parley:*` and may do nothing dangerous. */
export const redisUrl = process.env.TEST_REDIS_URL ?? '';

/** Declares tests where there is a Redis. Elsewhere one title says that they are left out; under `CI` it fails. */
export function redisTests(what: string, declare: () => void): void {
  if (redisUrl !== '') return declare();
  const why = `${what} - left out: TEST_REDIS_URL names no Redis`;
  if (process.env.CI) test(why, (t) => t.fail('CI has every engine'));
  else test.skip(why, (t) => t.pass());
}

/** A connection for one replica. Patient, since many tests run on few cores at once. */
export function testConnection(options: Partial<RedisConnectionOptions> = {}): RedisConnection {
  return redisConnection({ url: redisUrl, timeoutMs: 10_000, ...options });
}

/** A connection as one replica has it, stopped after the test. */
export async function replica(
  t: ExecutionContext,
  options: Partial<RedisConnectionOptions> = {},
): Promise<RedisConnection> {
  const connection = testConnection(options);
  t.teardown(() => connection.stop());
  await connection.start();
  return connection;
}

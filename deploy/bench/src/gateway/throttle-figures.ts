import { memoryKeyValue } from '@parley/chassis/key-value/memory-key-value';
import { redisEngines } from '@parley/chassis/redis/redis-engines';
import { readFieldRules } from '../../../../gateway/src/graph/field-rules.ts';
import { readSupergraph } from '../../../../gateway/src/graph/supergraph.ts';
import { createThrottle } from '../../../../gateway/src/limits/throttle.ts';
import type { Figure } from '../figure.ts';
import { quietLog } from '../quiet-log.ts';
import { quantile } from '../statistics.ts';

const requests = 5_000;

/** What the throttle of a request takes: counted in this process, or in Redis where `redisUrl` names one. */
export async function throttleFigures(redisUrl: string | undefined, prefix = ''): Promise<Figure[]> {
  const log = quietLog();
  const rules = readFieldRules(await readSupergraph());
  const redis = redisUrl ? redisEngines(redisUrl, log) : undefined;
  await redis?.start();
  const keyValue = redis?.keyValue ?? memoryKeyValue();
  const throttle = createThrottle({ rules, keyValue, onDegraded: () => undefined, log });
  const fields = [{ type: 'Mutation' as const, name: 'login' }];
  const times: number[] = [];
  for (let n = -500; n < requests; n += 1) {
    // So many clients that none comes to the end of its window.
    const client = `10.${(n >> 10) & 255}.${(n >> 2) & 255}.1`;
    const before = performance.now();
    const answer = await throttle(fields, client);
    if (n >= 0) times.push(performance.now() - before);
    if (answer?.refused) throw new Error('A request was refused');
  }
  await keyValue.close();
  await redis?.stop();
  const where = redis ? 'Redis' : 'memory';
  return [
    {
      name: `${prefix}throttle of a request, counted in ${where}, p50`,
      value: quantile(times, 0.5),
      unit: 'ms',
      goal: 0.3,
    },
    { name: `${prefix}throttle of a request, counted in ${where}, p99`, value: quantile(times, 0.99), unit: 'ms' },
  ];
}

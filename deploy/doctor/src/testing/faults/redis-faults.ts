import type { ExecutionContext } from 'ava';
import { canary, type Garden } from '../garden.ts';
import { changed, type Fault, nowhere, planted } from '../planted.ts';
import { type Rewriting, replacing, rewritingProxy } from '../proxies.ts';

async function redisBehind({ env }: Garden, t: ExecutionContext, how: Rewriting): Promise<Fault> {
  const proxy = await rewritingProxy(t, new URL(env.REDIS_URL ?? '').host, how);
  return { env: { REDIS_URL: changed(env.REDIS_URL, (url) => Object.assign(url, { host: proxy })) } };
}

export const redisFaults = [
  planted(
    'a Redis that is down',
    () => ({ env: { REDIS_URL: `redis://:${canary}@${nowhere}` } }),
    ['redis.refused'],
    /nothing listens/u,
  ),
  planted(
    'a wrong password of Redis',
    (garden) => ({
      env: { REDIS_URL: changed(garden.env.REDIS_URL, (url) => Object.assign(url, { password: canary })) },
    }),
    ['redis.password'],
    /refuses the login/u,
  ),
  planted(
    'an old Redis',
    (garden, t) =>
      redisBehind(garden, t, { answers: (bytes) => Buffer.from(String(bytes).replace(/(?<=redis_version:)\d/u, '6')) }),
    ['redis.version'],
    /is Redis 6\./u,
  ),
  planted(
    'a Redis that drops keys',
    (garden, t) =>
      redisBehind(garden, t, { answers: replacing('maxmemory_policy:noeviction', 'maxmemory_policy:allkeys-xx') }),
    ['redis.eviction'],
    /drops keys/u,
  ),
  planted(
    'a Redis that is a replica',
    (garden, t) => redisBehind(garden, t, { answers: replacing('role:master', 'role:slave ') }),
    ['redis.replica'],
    /is a replica/u,
  ),
  planted(
    'a Redis Cluster',
    (garden, t) => redisBehind(garden, t, { answers: replacing('redis_mode:standalone', 'redis_mode:cluster   ') }),
    ['redis.cluster'],
    /is a Redis Cluster/u,
  ),
  planted(
    'a login of Redis that may run no script',
    (garden, t) =>
      redisBehind(garden, t, { inPlace: (said) => (said.includes('EVAL') ? '-NOPERM no scripts\r\n' : undefined) }),
    ['redis.rights'],
    /may not: EVALSHA, EVAL$/u,
  ),
];

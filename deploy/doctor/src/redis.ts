import { unitProcessSettings } from '@parley/kernel/settings/shared-settings';
import { within } from '@parley/kernel/timing/timers';
import { type RedisClient, redisClients } from '@parley/live/redis/redis-link';
import { clockOutcome } from './clock.ts';
import { connectionProblem, hostAndPort, reasonOf } from './connection-problem.ts';
import { type Installation, usable } from './installation.ts';
import { type Outcome, ok, warning, wrong } from './outcome.ts';
import { redisNeeds } from './redis-needs.ts';
import { type Ask, rightsOutcomes } from './redis-rights.ts';

const { redisUrl } = unitProcessSettings;
const settings = [redisUrl.name];
const oldestMajor = 7;

/** Connects to Redis as the units do, and tries the commands that they need. */
export async function checkRedis({ env, units, now, patienceMs }: Installation): Promise<Outcome[]> {
  const url = usable(env, { redisUrl })?.redisUrl;
  if (url === undefined) return [];
  const { at } = hostAndPort(url);
  const client = redisClients(url, patienceMs)('parley-doctor');
  client.on('error', () => undefined); // ignored, because pending commands reject as well
  try {
    await within(patienceMs, `Connecting to ${at}`, client.connect());
    const ask: Ask = (...command) => within(patienceMs, command.join(' '), client.sendCommand(command));
    const info = await ask<string>('INFO').then(factsIn, () => undefined);
    const clock = await clockOutcomes(ask, at, now);
    const listen = (channel: string) => within(patienceMs, 'SUBSCRIBE', subscribeOnce(client, channel));
    return [...serverOutcomes(info, at), ...(await rightsOutcomes(redisNeeds(units), ask, listen)), ...clock];
  } catch (error) {
    return [refused(error, at)];
  } finally {
    client.destroy();
  }
}

async function subscribeOnce(client: RedisClient, channel: string): Promise<void> {
  await client.subscribe(channel, () => undefined);
  await client.unsubscribe(channel);
}

function factsIn(info: string): Record<string, string | undefined> {
  const lines = info.split('\r\n').filter((line) => line.includes(':'));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
  );
}

/** Checks the facts in INFO. @param info undefined if the login may not run INFO */
function serverOutcomes(info: Record<string, string | undefined> | undefined, at: string): Outcome[] {
  if (!info) return [ok('redis.reachable', settings, `${at} answers; its version is unknown, as INFO is not allowed`)];
  const { redis_version: version = '', redis_mode: mode, role, maxmemory_policy: policy } = info;
  const outcomes: Outcome[] = [];
  if (Number.parseInt(version, 10) < oldestMajor) {
    const found = `${at} is Redis ${version}`;
    outcomes.push(wrong('redis.version', settings, found, `Use Redis ${oldestMajor} or newer.`));
  }
  if (mode === 'cluster') {
    const found = `${at} is a Redis Cluster, which spreads keys over servers`;
    outcomes.push(wrong('redis.cluster', settings, found, 'Use one Redis, with a replica for failover if you like.'));
  }
  if (role === 'slave') {
    const change = `Name the primary in ${redisUrl.name}, by an address that follows a failover.`;
    outcomes.push(wrong('redis.replica', settings, `${at} is a replica, which cannot be written to`, change));
  }
  if (policy !== undefined && policy !== 'noeviction') {
    const found = `${at} drops keys when its memory is full (maxmemory-policy ${policy})`;
    outcomes.push(
      warning(
        'redis.eviction',
        settings,
        found,
        'Set maxmemory-policy to noeviction: counters and live events may vanish.',
      ),
    );
  }
  return [...outcomes, ok('redis.reachable', settings, `${at} answers, Redis ${version}`)];
}

async function clockOutcomes(ask: Ask, at: string, now: Installation['now']): Promise<Outcome[]> {
  const asked = now();
  const time = await ask<[string, string]>('TIME').catch(() => undefined);
  if (!time) return [];
  const serverMs = Number(time[0]) * 1_000 + Number(time[1]) / 1_000;
  return [clockOutcome('redis', settings, at, { serverMs, asked, answered: now() })];
}

function refused(error: unknown, at: string): Outcome {
  const reason = reasonOf(error);
  if (/WRONGPASS|NOAUTH|invalid password|without any password/u.test(reason)) {
    const change = `Correct user and password in ${redisUrl.name}.`;
    return wrong('redis.password', settings, `${at} refuses the login`, change);
  }
  const problem = connectionProblem(error, at);
  if (problem) return wrong(`redis.${problem.kind}`, settings, problem.found, problem.change);
  return wrong('redis.failed', settings, `${at} answers with an error: ${reason}`, 'See the log of Redis.');
}

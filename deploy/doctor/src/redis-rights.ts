import { randomInt } from 'node:crypto';
import { unitProcessSettings } from '@parley/kernel/settings/shared-settings';
import { reasonOf } from './connection-problem.ts';
import { type Outcome, ok, wrong } from './outcome.ts';
import { harmlessly, type KeyCommand, type RedisNeeds } from './redis-needs.ts';

const settings = [unitProcessSettings.redisUrl.name];

export type Ask = <T>(...command: string[]) => Promise<T>;

/** Tries each command on keys that have the units' prefixes but do not exist. `ACL DRYRUN` would need rights that units do not have. */
export async function rightsOutcomes(
  { keys, channels }: RedisNeeds,
  ask: Ask,
  listen: (channel: string) => Promise<void>,
): Promise<Outcome[]> {
  const refused: string[] = [];
  const scripts = { EVALSHA: ['0'.repeat(40), '0'], EVAL: ["return 'PONG'", '0'], TIME: [] };
  const lacking = await refusedOf(Object.entries(scripts), ([command, given]) => ask(command, ...given));
  if (lacking.length > 0) refused.push(lacking.map(([command]) => command).join(', '));

  const commandsOf: [name: string, commands: string][] = [];
  for (const [name, commands] of Object.entries(keys)) {
    const key = unused(name);
    const ofKey = await refusedOf(commands, (command: KeyCommand) => ask(...harmlessly(command, key)));
    if (ofKey.length > 0) commandsOf.push([name, ofKey.join(', ')]);
  }
  for (const [commands, same] of Map.groupBy(commandsOf, ([, commands]) => commands)) {
    refused.push(`${commands} on keys ${same.map(([name]) => name).join(', ')}`);
  }

  // The check only subscribes, because publishing to a fixed channel would reach the units. Publishing needs the same right on the channel
  // as subscribing.
  const unheard = await refusedOf(channels, (name) => listen(unused(name)));
  if (unheard.length > 0) refused.push(`SUBSCRIBE to channels ${unheard.join(', ')}`);
  const untold = await refusedOf(
    channels.filter((name) => name.includes('*')),
    (name) => ask('PUBLISH', unused(name), ''),
  );
  if (untold.length > 0) refused.push(`PUBLISH to channels ${untold.join(', ')}`);

  if (refused.length === 0) return [ok('redis.rights', settings, 'the login may do what the units do')];
  const change = 'Give the login `~parley:* &parley:* +@all -@admin -@dangerous +info`, or as much.';
  return [wrong('redis.rights', settings, `the login may not: ${refused.join('; ')}`, change)];
}

async function refusedOf<T>(tried: readonly T[], attempt: (one: T) => Promise<unknown>): Promise<T[]> {
  const refused: T[] = [];
  for (const one of tried) if (await isRefused(attempt(one))) refused.push(one);
  return refused;
}

/** Reports whether the login lacks a right. Redis checks rights first, so any other error shows that the right exists. */
async function isRefused(attempt: Promise<unknown>): Promise<boolean> {
  try {
    await attempt;
    return false;
  } catch (error) {
    const reason = reasonOf(error);
    if (/^NOPERM |^ERR unknown command/u.test(reason)) return true;
    if (/^(?:NOSCRIPT|READONLY|ERR) /u.test(reason)) return false;
    throw error;
  }
}

/** Returns an unused name that matches the pattern. The id in it is larger than that of any tenant. */
function unused(name: string): string {
  return name.replaceAll('*', () => String(randomInt(2 ** 40, 2 ** 47)));
}

import { createHash } from 'node:crypto';
import { unavailable } from '@parley/kernel/errors';
import type { Logger } from '@parley/kernel/telemetry/log';
import { within } from '@parley/kernel/timing/timers';
import { ErrorReply } from '@redis/client';
import { type RedisArgument, type RedisClient, redisClients, redisLink } from './redis-link.ts';
import { redisRefusals } from './redis-refusals.ts';
import { redisSubscriptions } from './redis-subscriptions.ts';

export interface RedisConnectionOptions {
  /** `redis://user:password@host:port`, `rediss://` for TLS. */
  url: string;
  /** Time in ms after which a call rejects with `unavailable`. Default 1,000. */
  timeoutMs?: number;
  log?: Logger;
}

export type RedisConnection = ReturnType<typeof redisConnection>;
export type RedisScript = ReturnType<typeof redisScript>;

export function redisScript(text: string) {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

const startTimeoutMs = 10_000;
/** The check runs a script, because running scripts requires a right that PING does not require. */
const pong = redisScript("return 'PONG'");

/**
 * The Redis connections of one process: one for commands and one for subscriptions. Both reconnect for ever. In an outage every
 * call rejects with `unavailable`, after `timeoutMs` at the latest; a call that has timed out may have been executed.
 */
export function redisConnection({ url, timeoutMs = 1_000, log }: RedisConnectionOptions) {
  const createClient = redisClients(url, timeoutMs);
  const refusals = redisRefusals(log);
  const shared = { refusals, timeoutMs, log };
  const commands = redisLink({ ...shared, createClient: () => createClient('parley'), name: 'commands' });
  const listening = redisLink({
    ...shared,
    createClient: () => createClient('parley-listening'),
    name: 'listening',
    prepare: (client: RedisClient) => subscriptions.renew(client),
    lost: () => subscriptions.lost(),
  });
  const subscriptions = redisSubscriptions({ ...shared, client: () => listening.client });

  /** Runs a script in one round trip, by its hash. If the server does not know the script, its text is sent. */
  async function run<T>({ sha, text }: RedisScript, keys: string[], args: RedisArgument[]): Promise<T> {
    const rest = [String(keys.length), ...keys, ...args];
    try {
      return await commands.send(['EVALSHA', sha, ...rest], { script: text });
    } catch (error) {
      if (!(error instanceof ErrorReply) || !error.message.startsWith('NOSCRIPT')) throw error;
      return commands.send(['EVAL', text, ...rest], { script: text });
    }
  }

  return {
    name: 'redis',

    /** Resolves when Redis responds, or after 10 s without a response, while connecting continues. */
    async start(): Promise<void> {
      commands.start();
      listening.start();
      const up = Promise.all([commands.whenUp(), listening.whenUp()]);
      await within(startTimeoutMs, 'Connecting', up).catch(() => undefined); // the links have already logged the reason
    },

    command: commands.send,

    script: run,

    subscribe: subscriptions.subscribe,

    /**
     * Rejects if one of the connections is not in use or does not respond, if the login may not run scripts, or if a command was refused to
     * the login in the last minute.
     */
    async ready(): Promise<void> {
      refusals.check();
      if (!listening.client) throw unavailable('Redis is unavailable');
      await Promise.all([run(pong, [], []), listening.send(['PING'])]);
    },

    async stop(): Promise<void> {
      listening.close();
      commands.close();
    },
  };
}

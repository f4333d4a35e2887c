import { createHash } from 'node:crypto';
import { unavailable } from '@parley/kernel/errors';
import type { Logger } from '@parley/kernel/log';
import { within } from '@parley/kernel/timers';
import type { Part } from '@parley/kernel/unit';
import { ErrorReply } from '@redis/client';
import { type RedisArgument, type RedisClient, redisClients, redisLink } from './redis-link.ts';
import { redisSubscriptions, type Subscriptions } from './redis-subscriptions.ts';

export interface RedisConnectionOptions {
  /** `redis://user:password@host:port`, `rediss://` for TLS. */
  url: string;
  /** How long a call may take before it is `unavailable`. Default 1,000. */
  timeoutMs?: number;
  log?: Logger;
}

/**
 * The Redis connections of one process: one for commands and one for subscriptions. Both reconnect for ever. In an outage every
 * call rejects with `unavailable`, after `timeoutMs` at the latest; a call that has timed out may have been executed.
 */
export interface RedisConnection extends Part {
  /** Resolves when Redis answers, or after 10 s without an answer; connecting goes on then. */
  start(): Promise<void>;
  command<T>(args: RedisArgument[], options?: { bytes?: boolean }): Promise<T>;
  /** Runs a script in one round trip, by its hash; a server that does not have it is sent the text. */
  script<T>(script: RedisScript, keys: string[], args: RedisArgument[]): Promise<T>;
  subscribe: Subscriptions['subscribe'];
  /** Rejects unless both connections are in use and answer. */
  ready(): Promise<void>;
}

export interface RedisScript {
  text: string;
  sha: string;
}

export function redisScript(text: string): RedisScript {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

const startTimeoutMs = 10_000;

export function redisConnection({ url, timeoutMs = 1_000, log }: RedisConnectionOptions): RedisConnection {
  const createClient = redisClients(url, timeoutMs);
  const commands = redisLink({ createClient: () => createClient('parley'), name: 'commands', timeoutMs, log });
  const listening = redisLink({
    createClient: () => createClient('parley-listening'),
    name: 'listening',
    timeoutMs,
    log,
    prepare: (client: RedisClient) => subscriptions.renew(client),
    lost: () => subscriptions.lost(),
  });
  const subscriptions = redisSubscriptions({ client: () => listening.client, timeoutMs, log });

  return {
    name: 'redis',

    async start() {
      commands.start();
      listening.start();
      const up = Promise.all([commands.whenUp(), listening.whenUp()]);
      await within(startTimeoutMs, 'Connecting', up).catch(() => undefined);
    },

    command: (args, options) => commands.send(args, options),

    async script(script, keys, args) {
      const rest = [String(keys.length), ...keys, ...args];
      try {
        return await commands.send(['EVALSHA', script.sha, ...rest]);
      } catch (error) {
        if (!(error instanceof ErrorReply) || !error.message.startsWith('NOSCRIPT')) throw error;
        return commands.send(['EVAL', script.text, ...rest]);
      }
    },

    subscribe: subscriptions.subscribe,

    async ready() {
      if (!listening.client) throw unavailable('Redis is unavailable');
      await Promise.all([commands.send(['PING']), listening.send(['PING'])]);
    },

    async stop() {
      listening.close();
      commands.close();
    },
  };
}

import { unavailable } from '@parley/kernel/errors';
import type { Logger } from '@parley/kernel/log';
import type { RedisClient } from './redis-link.ts';

/** Whoever listens to a channel. What it throws is logged. */
export interface ChannelListener {
  message(text: string): void;
  /** From now on messages are missed. */
  lost?(): void;
  /** Messages arrive again. */
  resumed?(): void;
}

export interface Subscriptions {
  /**
   * Once resolved, `listener` gets every later message until the function that it resolves with is called. Rejects with
   * `unavailable` while Redis is away; a subscription that stands comes back with the connection.
   */
  subscribe(channel: string, listener: ChannelListener): Promise<() => void>;
  /** Brings a new connection to where the last one was. */
  renew(client: RedisClient): Promise<void>;
  lost(): void;
}

export interface SubscriptionsOptions {
  client(): RedisClient | undefined;
  timeoutMs: number;
  log?: Logger | undefined;
}

interface Channel {
  listeners: Set<ChannelListener>;
  subscribed: Promise<void>;
}

/** One subscription per channel, however many listen to it. */
export function redisSubscriptions({ client: current, timeoutMs, log }: SubscriptionsOptions): Subscriptions {
  const channels = new Map<string, Channel>();

  function tell(channel: string, what: (listener: ChannelListener) => void): void {
    const listeners = channels.get(channel)?.listeners ?? [];
    for (const listener of listeners) {
      try {
        what(listener);
      } catch (error) {
        log?.error({ err: error, channel }, 'a subscriber threw');
      }
    }
  }

  // The same function for all channels: the client calls it once a message, even where a channel was asked for twice.
  function dispatch(text: string, channel: string): void {
    tell(channel, (listener) => listener.message(text));
  }

  function leave(channel: string, listener: ChannelListener): void {
    const found = channels.get(channel);
    if (!found?.listeners.delete(listener) || found.listeners.size > 0) return;
    channels.delete(channel);
    current()
      ?.unsubscribe(channel, dispatch)
      .catch(() => undefined); // the connection is gone, and the subscription with it
  }

  /** The client's own promise ends with the connection, at the latest; callers do not wait for that. */
  async function inTime(promise: Promise<void>): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(unavailable('Redis does not answer')), timeoutMs);
    });
    try {
      await Promise.race([promise, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    async subscribe(channel, listener) {
      const client = current();
      if (!client) throw unavailable('Redis is away');
      let found = channels.get(channel);
      if (!found) {
        found = { listeners: new Set(), subscribed: client.subscribe(channel, dispatch) };
        found.subscribed.catch(() => undefined); // told to those who wait for it
        channels.set(channel, found);
      }
      const own = { ...listener }; // the same one may listen twice
      found.listeners.add(own);
      try {
        await inTime(found.subscribed);
      } catch (error) {
        leave(channel, own);
        throw unavailable('Redis is away', error);
      }
      return () => leave(channel, own);
    },

    async renew(client) {
      const names = [...channels.keys()];
      if (names.length === 0) return;
      const subscribed = client.subscribe(names, dispatch);
      subscribed.catch(() => undefined);
      for (const channel of channels.values()) channel.subscribed = subscribed;
      await inTime(subscribed);
      for (const name of names) tell(name, (listener) => listener.resumed?.());
    },

    lost() {
      for (const name of channels.keys()) tell(name, (listener) => listener.lost?.());
    },
  };
}

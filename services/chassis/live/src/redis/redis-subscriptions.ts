import { unavailable } from '@parley/kernel/errors';
import type { Logger } from '@parley/kernel/telemetry/log';
import { within } from '@parley/kernel/timing/timers';
import type { RedisClient } from './redis-link.ts';
import type { RedisRefusals } from './redis-refusals.ts';

/** A listener of a channel. Its errors are logged. */
export interface ChannelListener {
  message(bytes: Buffer): void;
  /** Called when the connection is lost: from now on messages are missed. */
  lost?(): void;
  /** Called when the subscription is restored. */
  resumed?(): void;
}

export interface SubscriptionsOptions {
  client(): RedisClient | undefined;
  refusals: RedisRefusals;
  timeoutMs: number;
  log?: Logger | undefined;
}

const asBytes = true;

interface Channel {
  listeners: Set<ChannelListener>;
  subscribed: Promise<void>;
}

/** One subscription per channel, shared by its listeners. */
export function redisSubscriptions({ client: current, refusals, timeoutMs, log }: SubscriptionsOptions) {
  const channels = new Map<string, Channel>();

  function notify(channel: string, what: (listener: ChannelListener) => void): void {
    const listeners = channels.get(channel)?.listeners ?? [];
    for (const listener of listeners) {
      try {
        what(listener);
      } catch (error) {
        log?.error({ err: error, channel }, 'subscriber failed');
      }
    }
  }

  // One function for all channels, so that the client calls it once per message, even after a second subscription to a channel.
  function dispatch(message: Buffer, channel: Buffer): void {
    notify(channel.toString(), (listener) => listener.message(message));
  }

  function leave(channel: string, listener: ChannelListener): void {
    const found = channels.get(channel);
    if (!found?.listeners.delete(listener) || found.listeners.size > 0) return;
    channels.delete(channel);
    current()
      ?.unsubscribe(channel, dispatch, asBytes)
      .catch((error: unknown) => refusals.errorOf(error, { command: 'UNSUBSCRIBE' })); // any other error: the connection has ended
  }

  /** Limits the wait, because the client's own promise may not settle before the connection ends. */
  function inTime(promise: Promise<void>): Promise<void> {
    return within(timeoutMs, () => unavailable('Redis does not answer'), promise);
  }

  return {
    /**
     * Subscribes `listener` to a channel of Redis. Once the promise has resolved, the listener gets every later message until the returned
     * function is called. Rejects with `unavailable` in an outage, and if the login may not subscribe. A reconnect restores the
     * subscription.
     */
    async subscribe(channel: string, listener: ChannelListener): Promise<() => void> {
      const client = current();
      if (!client) throw unavailable('Redis is unavailable');
      let found = channels.get(channel);
      if (!found) {
        found = { listeners: new Set(), subscribed: client.subscribe(channel, dispatch, asBytes) };
        found.subscribed.catch(() => undefined); // callers that await `subscribed` handle the error
        channels.set(channel, found);
      }
      const own = { ...listener }; // the same listener may subscribe twice
      found.listeners.add(own);
      try {
        await inTime(found.subscribed);
      } catch (error) {
        leave(channel, own);
        throw refusals.errorOf(error, { command: 'SUBSCRIBE' }) ?? unavailable('Redis is unavailable', error);
      }
      return () => leave(channel, own);
    },

    /** Restores all subscriptions on a new connection. */
    async renew(client: RedisClient): Promise<void> {
      const names = [...channels.keys()];
      if (names.length === 0) return;
      const subscribed = client.subscribe(names, dispatch, asBytes);
      subscribed.catch(() => undefined);
      for (const channel of channels.values()) channel.subscribed = subscribed;
      await inTime(subscribed);
      for (const name of names) notify(name, (listener) => listener.resumed?.());
    },

    lost(): void {
      for (const name of channels.keys()) notify(name, (listener) => listener.lost?.());
    },
  };
}

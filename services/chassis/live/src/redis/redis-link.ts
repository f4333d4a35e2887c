import { isIP } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { isDomainError, unavailable } from '@parley/kernel/errors';
import type { Logger } from '@parley/kernel/telemetry/log';
import { isAbortError } from '@parley/kernel/timing/abort';
import { backoff } from '@parley/kernel/timing/backoff';
import { createClient, ErrorReply, RESP_TYPES } from '@redis/client';
import type { RedisRefusals } from './redis-refusals.ts';

/** An argument of a command or script. Text is sent as UTF-8. */
export type RedisArgument = string | Buffer;
export type RedisClient = ReturnType<typeof firstClient>;

export interface RedisLinkOptions {
  /** Creates a client that is not connected. */
  createClient(): RedisClient;
  /** The connection's name in logs. */
  name: string;
  refusals: RedisRefusals;
  /** How long a command may take, in ms. A server that is silent for five times as long counts as dead. */
  timeoutMs: number;
  log?: Logger | undefined;
  /** Called on every new connection before it is used. */
  prepare?(client: RedisClient): Promise<void>;
  /** Called when the connection in use was lost. */
  lost?(): void;
}

interface SendOptions {
  /** Whether strings of the reply are Buffers. */
  bytes?: boolean;
  /** The text of the script that the command runs, for errors. */
  script?: string;
}

const pauseAfter = backoff({ firstMs: 50, maxMs: 2_000, jitter: true });
const missedAnswers = 4;

/** One connection to Redis that reconnects for ever. */
export function redisLink(options: RedisLinkOptions) {
  const { createClient: newClient, name, refusals, timeoutMs, log, prepare, lost } = options;
  const closing = new AbortController();
  let up = Promise.withResolvers<void>();
  let client: RedisClient | undefined;
  /** False after a timeout until the next reply. Commands then reject at once, without waiting for their own timeouts. */
  let isAnswering = true;
  let hasAnswered = false;

  function answered(): void {
    isAnswering = true;
    hasAnswered = true;
  }

  function refused(error: unknown): void {
    if (error instanceof ErrorReply) answered();
  }

  async function send<T>(to: RedisClient, args: RedisArgument[], { bytes, script }: SendOptions = {}): Promise<T> {
    const silence = Promise.withResolvers<never>();
    let isOpen = true;
    // After a pause of this process the reply may already be in the socket; the socket is read before setImmediate runs.
    const timer = setTimeout(() => setImmediate(onTimeout), timeoutMs);
    function onTimeout() {
      if (!isOpen) return;
      if (to === client) isAnswering = false;
      silence.reject(unavailable('Redis does not answer'));
    }
    try {
      const reply = to.sendCommand<T>(args, bytes ? asBytes : undefined);
      reply.then(answered, refused); // a late reply also shows that the server responds
      return await Promise.race([reply, silence.promise]);
    } catch (error) {
      throw refusals.errorOf(error, { command: String(args[0]), script }) ?? toDomain(error);
    } finally {
      isOpen = false;
      clearTimeout(timer);
    }
  }

  /** Resolves when several commands in a row got no reply. */
  async function silence(of: RedisClient, signal: AbortSignal): Promise<Error> {
    for (let missed = 0; missed < missedAnswers; ) {
      await delay(timeoutMs, undefined, { signal });
      if (hasAnswered) missed = 0;
      else missed++;
      hasAnswered = false;
      send(of, ['PING']).catch(() => undefined);
    }
    return new Error('Redis has stopped answering');
  }

  /** Opens one connection and resolves with the reason when it has ended. */
  async function connectOnce(): Promise<{ wasUp: boolean; reason: unknown }> {
    const mine = newClient();
    const failed = new Promise<Error>((resolve) => mine.on('error', resolve));
    const over = new AbortController();
    let wasUp = false;
    try {
      await mine.connect();
      await send(mine, ['PING']); // a server that is still loading its data accepts connections but rejects commands
      await prepare?.(mine);
      closing.signal.throwIfAborted();
      client = mine;
      isAnswering = true;
      hasAnswered = true;
      wasUp = true;
      up.resolve();
      log?.info({ link: name }, 'Redis connected');
      const silent = silence(mine, AbortSignal.any([over.signal, closing.signal]));
      return { wasUp, reason: await Promise.race([failed, silent]) };
    } catch (reason) {
      return { wasUp, reason: refusals.errorOf(reason, { command: 'AUTH' }) ?? reason };
    } finally {
      over.abort();
      if (client === mine) {
        client = undefined;
        up = Promise.withResolvers();
      }
      mine.destroy();
    }
  }

  async function run(): Promise<void> {
    for (let failures = 0; !closing.signal.aborted; failures++) {
      const { wasUp, reason } = await connectOnce();
      if (closing.signal.aborted) return;
      if (wasUp) {
        failures = 0;
        lost?.();
      }
      // The warning is logged once per outage, not once per attempt.
      if (failures === 0) log?.warn({ link: name, err: reason }, 'Redis connection failed; will retry');
      await delay(pauseAfter(failures + 1), undefined, { signal: closing.signal });
    }
  }

  return {
    /** The connection in use; undefined while there is none. */
    get client() {
      return client;
    },
    /** Begins to connect. */
    start(): void {
      run().catch((error: unknown) => {
        if (!isAbortError(error)) log?.error({ link: name, err: error }, 'Redis connection ended by a bug');
      });
    },
    /** Resolves with the next usable connection, at once if there is one. */
    whenUp: () => up.promise,
    /**
     * Sends one command. Rejects with `unavailable` while there is no connection or no reply, after `timeoutMs` at the latest; even then
     * the command may have been executed.
     */
    send<T>(args: RedisArgument[], given?: SendOptions): Promise<T> {
      if (!client) return Promise.reject(unavailable('Redis is unavailable'));
      if (!isAnswering) return Promise.reject(unavailable('Redis does not answer'));
      return send<T>(client, args, given);
    },
    close(): void {
      closing.abort();
      const last = client;
      client = undefined;
      last?.destroy();
    },
  };
}

const asBytes = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } };

/**
 * Creates clients by duplicating one, because creating the first client blocks the event loop for a tenth of a second.
 * @param url `redis://user:password@host:port`, `rediss://` for TLS
 */
export function redisClients(url: string, timeoutMs: number): (name: string) => RedisClient {
  const first = firstClient(url, timeoutMs);
  return (name) => first.duplicate({ name }); // the name in CLIENT LIST
}

function firstClient(url: string, timeoutMs: number) {
  const { hostname, protocol } = new URL(url);
  return createClient({
    url,
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: 'disabled',
    commandOptions: { timeout: 0 }, // the link has its own timeout, so no AbortSignal per command is needed
    socket: {
      // The client does not send a TLS server name by default, but a proxy for several servers needs one.
      ...(protocol === 'rediss:' &&
        isIP(hostname.replace(/^\[|\]$/gu, '')) === 0 && { tls: true, servername: hostname }),
      connectTimeout: 2 * timeoutMs,
      socketTimeout: 6 * timeoutMs, // ends a handshake without a reply; later a PING is sent every `timeoutMs`
      reconnectStrategy: false, // instead of a reconnection, the link makes a new client, whose state is known
    },
  });
}

/** Temporary errors of the server; any other error reply is a bug in this code. */
const temporary = /^(LOADING|BUSY|OOM|READONLY|MISCONF|MASTERDOWN|NOREPLICAS|CLUSTERDOWN|TRYAGAIN|UNBLOCKED) /;

function toDomain(error: unknown): unknown {
  if (isDomainError(error)) return error;
  if (!(error instanceof ErrorReply)) return unavailable('Redis is unavailable', error);
  return temporary.test(error.message) ? unavailable('Redis cannot serve now', error) : error;
}

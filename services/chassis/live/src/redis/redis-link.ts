import { setTimeout as delay } from 'node:timers/promises';
import { isAbortError } from '@parley/kernel/abort';
import { isDomainError, unavailable } from '@parley/kernel/errors';
import type { Logger } from '@parley/kernel/log';
import { createClient, ErrorReply, RESP_TYPES } from 'redis';

/** What a command or a script is given. Bytes arrive as they are, text as UTF-8. */
export type RedisArgument = string | Buffer;
export type RedisClient = ReturnType<typeof firstClient>;

export interface RedisLinkOptions {
  /** Makes a client that is not connected. */
  createClient(): RedisClient;
  /** As the log calls it. */
  name: string;
  /** How long a command may take. A server that is silent for five times as long is taken for dead. */
  timeoutMs: number;
  log?: Logger | undefined;
  /** Done on every new connection before it is used. */
  prepare?(client: RedisClient): Promise<void>;
  /** A connection that was in use is gone. */
  lost?(): void;
}

/** One connection to Redis that comes back by itself, for ever. */
export interface RedisLink {
  /** The connection in use; undefined while there is none. */
  readonly client: RedisClient | undefined;
  /** Begins to connect. */
  start(): void;
  /** Resolves with the next connection in use, at once where there is one. */
  whenUp(): Promise<void>;
  /**
   * Sends one command. Rejects with `unavailable` while there is no connection or no answer, after `timeoutMs` at the
   * latest: it may have been carried out all the same. With `bytes` texts of the answer are Buffers.
   */
  send<T>(args: RedisArgument[], options?: { bytes?: boolean }): Promise<T>;
  close(): void;
}

const firstPauseMs = 50;
const longestPauseMs = 2_000;
const missedAnswers = 4;

export function redisLink({
  createClient: newClient,
  name,
  timeoutMs,
  log,
  prepare,
  lost,
}: RedisLinkOptions): RedisLink {
  const closing = new AbortController();
  let up = Promise.withResolvers<void>();
  let client: RedisClient | undefined;
  /** False from the first answer that did not come in time to the next that comes: asking more would only wait as long. */
  let isAnswering = true;
  let hasAnswered = false;

  function answered(): void {
    isAnswering = true;
    hasAnswered = true;
  }

  function refused(error: unknown): void {
    if (error instanceof ErrorReply) answered();
  }

  async function send<T>(to: RedisClient, args: RedisArgument[], bytes = false): Promise<T> {
    const silence = Promise.withResolvers<never>();
    let isOpen = true;
    // After a pause of this process the answer may be here already: it is read before the second turn.
    const timer = setTimeout(() => setImmediate(giveUp), timeoutMs);
    function giveUp() {
      if (!isOpen) return;
      if (to === client) isAnswering = false;
      silence.reject(unavailable('Redis does not answer'));
    }
    try {
      const reply = to.sendCommand<T>(args, bytes ? asBytes : undefined);
      reply.then(answered, refused); // also what comes too late says that it answers
      return await Promise.race([reply, silence.promise]);
    } catch (error) {
      throw toDomain(error);
    } finally {
      isOpen = false;
      clearTimeout(timer);
    }
  }

  /** Resolves when the server has left several questions in a row without an answer. */
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

  /** One connection, from its first byte to its end; resolves with the reason why it ended. */
  async function connectOnce(): Promise<{ wasUp: boolean; reason: unknown }> {
    const mine = newClient();
    const failed = new Promise<Error>((resolve) => mine.on('error', resolve));
    const over = new AbortController();
    let wasUp = false;
    try {
      await mine.connect();
      await send(mine, ['PING']); // one that still loads its data connects and answers nothing else
      await prepare?.(mine);
      closing.signal.throwIfAborted();
      client = mine;
      isAnswering = true;
      hasAnswered = true;
      wasUp = true;
      up.resolve();
      log?.info({ link: name }, 'Redis is there');
      const silent = silence(mine, AbortSignal.any([over.signal, closing.signal]));
      return { wasUp, reason: await Promise.race([failed, silent]) };
    } catch (reason) {
      return { wasUp, reason };
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
      // Told once an outage, not at every attempt.
      if (failures === 0) log?.warn({ link: name, err: reason }, 'Redis is away; trying again');
      const pauseMs = Math.min(firstPauseMs * 2 ** Math.min(failures, 10), longestPauseMs);
      await delay(pauseMs * (0.5 + Math.random() / 2), undefined, { signal: closing.signal });
    }
  }

  return {
    get client() {
      return client;
    },
    start() {
      run().catch((error: unknown) => {
        if (!isAbortError(error)) log?.error({ link: name, err: error }, 'the connection to Redis is given up');
      });
    },
    whenUp: () => up.promise,
    send(args, { bytes } = {}) {
      if (!client) return Promise.reject(unavailable('Redis is away'));
      if (!isAnswering) return Promise.reject(unavailable('Redis does not answer'));
      return send(client, args, bytes);
    },
    close() {
      closing.abort();
      const last = client;
      client = undefined;
      last?.destroy();
    },
  };
}

const asBytes = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } };

/**
 * Makes clients by copying one: making the first takes a tenth of a second of the event loop.
 * @param url `redis://user:password@host:port`, `rediss://` for TLS
 */
export function redisClients(url: string, timeoutMs: number): (name: string) => RedisClient {
  const first = firstClient(url, timeoutMs);
  return (name) => first.duplicate({ name }); // as CLIENT LIST shows it
}

function firstClient(url: string, timeoutMs: number) {
  return createClient({
    url,
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: 'disabled',
    commandOptions: { timeout: 0 }, // the link has its own, which costs no signal per command
    socket: {
      connectTimeout: 2 * timeoutMs,
      socketTimeout: 6 * timeoutMs, // ends a handshake that gets no answer; later there is always a PING on its way
      reconnectStrategy: false, // the link makes a new client, whose state nobody has to guess
    },
  });
}

/** Answers that say "not now"; every other error that the server answers is a bug of ours. */
const passing = /^(LOADING|BUSY|OOM|READONLY|MISCONF|MASTERDOWN|NOREPLICAS|CLUSTERDOWN|TRYAGAIN|UNBLOCKED) /;

function toDomain(error: unknown): unknown {
  if (isDomainError(error)) return error;
  if (!(error instanceof ErrorReply)) return unavailable('Redis is away', error);
  return passing.test(error.message) ? unavailable('Redis cannot serve now', error) : error;
}

import type { Duplex } from 'node:stream';
import { WebSocket } from 'ws';
import type { FrameScheduler } from './frame-scheduler.ts';

export interface ClientSocketLimits {
  maxUnsentBytes: number;
  maxMessagesPerSecond: number;
}

const cutAfterMs = 1_000;

/** Maximum number of refused operations per second. A further refusal closes the socket. */
const maxRefusals = 20;

const batchBytes = 65_536;

const replayBytes = 262_144;

type Data = Parameters<WebSocket['send']>[0];
type Sent = (error?: Error) => void;

interface Frame {
  event: 'message' | 'ping';
  data: Buffer;
}

export function clientSocket({ maxUnsentBytes, maxMessagesPerSecond }: ClientSocketLimits, scheduler: FrameScheduler) {
  return class ClientSocket extends WebSocket {
    #stream: Duplex | undefined;
    #client = '';
    #isBatching = false;
    #waiting: Frame[] = [];
    #closed: AbortController | undefined;
    #isServing = false;
    #received = 0;
    #refused = 0;
    #windowEndsAt = 0;
    #isFlooding = false;

    override emit(event: string | symbol, ...args: unknown[]): boolean {
      // ws closes the socket after a protocol error; graphql-ws would also print the error.
      if (event === 'error') return true;
      if (event === 'close') this.#dropFrames();
      if (event !== 'message' && event !== 'ping' && event !== 'pong') return super.emit(event, ...args);
      if (this.readyState !== WebSocket.OPEN) return true; // ignores frames after the close
      this.#renewWindow();
      this.#received += 1;
      if (this.#received > maxMessagesPerSecond) this.#closeFlooding('Too many messages');
      // A pong keeps the socket alive and costs nothing, so it is not scheduled.
      else if (event === 'pong') super.emit(event, ...args);
      else void this.#serve({ event, data: args[0] as Buffer });
      return true;
    }

    override close(code?: number, reason?: string | Buffer): void {
      super.close(code, reason);
      this.#dropFrames();
    }

    #dropFrames(): void {
      this.#waiting = [];
      this.#closed?.abort();
    }

    /** Pauses the socket while its frames are queued, so that backpressure reaches the client. */
    async #serve(frame: Frame): Promise<void> {
      this.#waiting.push(frame);
      if (this.#isServing) return this.pause();
      this.#isServing = true;
      for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
        const { event, data } = next;
        const signal = () => (this.#closed ??= new AbortController()).signal;
        const isServed = await scheduler.run({ client: this.#client, bytes: data.length, signal }, () => {
          if (this.readyState !== WebSocket.OPEN) return;
          if (event === 'ping') super.emit(event, data);
          else this.#handle(String(data));
        });
        if (!isServed) this.#closeFlooding('Too many bytes wait');
      }
      this.#isServing = false;
      if (this.isPaused && !this.#isFlooding) this.resume();
    }

    #handle(message: string): void {
      // graphql-ws would print a stack trace and close with 4500.
      if (isOfServer(message)) this.close(4400, 'Only the server sends this message');
      else super.emit('message', message);
    }

    /** Closes the socket with 4429 when its operations are refused too often. */
    countRefusal(): void {
      this.#renewWindow();
      this.#refused += 1;
      if (this.#refused > maxRefusals) this.#closeFlooding('Too many refused operations');
    }

    /** The client may continue to send, so nothing more is read, not even its close frame. */
    #closeFlooding(reason: string): void {
      this.#isFlooding = true;
      this.close(4429, reason);
      this.pause();
      this.#terminateSoon();
    }

    #terminateSoon(): void {
      setTimeout(() => this.terminate(), cutAfterMs).unref();
    }

    /** Schedules frames under this client, and batches writes to the stream. */
    attach(stream: Duplex, client: string): void {
      this.#stream = stream;
      this.#client = client;
    }

    /** Sends all frames of one event loop iteration in one system call; system calls dominate the cost of small frames. */
    #batch(): void {
      const stream = this.#stream;
      if (!stream || this.#isBatching) return;
      this.#isBatching = true;
      stream.cork();
      setImmediate(() => {
        this.#isBatching = false;
        stream.uncork();
      });
    }

    /** Never waits for the client, because slow readers are detected by their number of unsent bytes. */
    override send(data: Data, second?: object | Sent, third?: Sent): void {
      this.#batch();
      super.send(data);
      if (this.#stream && this.#stream.writableLength > batchBytes) {
        this.#stream.uncork();
        this.#stream.cork();
      }
      if (this.bufferedAmount > maxUnsentBytes && this.readyState === WebSocket.OPEN) {
        this.close(4408, 'This reader is too slow');
        this.#terminateSoon();
      }
      (typeof second === 'function' ? (second as Sent) : third)?.();
    }

    async drained(): Promise<void> {
      const stream = this.#stream;
      const maxBytes = Math.min(replayBytes, maxUnsentBytes / 4);
      if (!stream) return;
      const isFull = () => this.bufferedAmount > maxBytes && !stream.destroyed;
      while (isFull()) await drainOrClose(stream);
    }

    #renewWindow(): void {
      const now = performance.now();
      if (now < this.#windowEndsAt) return;
      this.#windowEndsAt = now + 1_000;
      this.#received = 0;
      this.#refused = 0;
    }
  };
}

const mayBeOfServer = /"(?:next|error|connection_ack)"|\\u/;

/**
 * Reports whether a client sends a message type that only servers send. Parses only messages that may have such a type: JSON can spell
 * these names only plainly or with `\u`.
 */
function isOfServer(message: string): boolean {
  if (!mayBeOfServer.test(message)) return false;
  try {
    const { type } = JSON.parse(message) ?? {};
    return type === 'next' || type === 'error' || type === 'connection_ack';
  } catch {
    return false; // graphql-ws refuses invalid JSON
  }
}

function drainOrClose(stream: Duplex): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const changed = () => {
    stream.off('drain', changed).off('close', changed);
    resolve();
  };
  stream.on('drain', changed).on('close', changed);
  return promise;
}

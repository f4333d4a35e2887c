import type { Duplex } from 'node:stream';
import { WebSocket } from 'ws';

export interface ClientSocketLimits {
  /** A reader that has this much unsent is closed: one slow client must not fill the gateway's memory. */
  maxUnsentBytes: number;
  /** Frames that a client may send in a second, pings included. */
  maxMessagesPerSecond: number;
}

/** How long a reader that is too slow may take to read that it is, before it is cut. */
const cutAfterMs = 1_000;

/** So many bytes are written at once, however much more comes in the same turn of the event loop. */
const batchBytes = 65_536;

/** What is replayed waits until less than this is unsent. */
const replayBytes = 262_144;

type Data = Parameters<WebSocket['send']>[0];
type Sent = (error?: Error) => void;

/** The class of the sockets of clients: what they may send and how far they may fall behind. */
export function clientSocket({ maxUnsentBytes, maxMessagesPerSecond }: ClientSocketLimits) {
  return class ClientSocket extends WebSocket {
    #stream: Duplex | undefined;
    #isBatching = false;
    #received = 0;
    #windowEndsAt = 0;

    override emit(event: string | symbol, ...args: unknown[]): boolean {
      // What a client breaks on its socket ends that socket, which ws sees to; graphql-ws would also write it to the console.
      if (event === 'error') return true;
      if (event === 'message' || event === 'ping' || event === 'pong') {
        if (this.readyState !== WebSocket.OPEN) return true; // what arrives after the close is not worked on
        if (this.#isFlooding()) {
          this.close(4429, 'Too many messages');
          return true;
        }
      }
      return super.emit(event, ...args);
    }

    /**
     * Tells the connection below, so that the frames of one turn of the event loop leave it together: the system call that each
     * would take is most of what the delivery of a chunk costs.
     */
    batchWritesOn(stream: Duplex): void {
      this.#stream = stream;
    }

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

    /** Waits for no one to read: how much is unsent is what tells a slow reader, so nothing may hold it back. */
    override send(data: Data, second?: object | Sent, third?: Sent): void {
      this.#batch();
      super.send(data);
      if (this.#stream && this.#stream.writableLength > batchBytes) {
        this.#stream.uncork();
        this.#stream.cork();
      }
      if (this.bufferedAmount > maxUnsentBytes && this.readyState === WebSocket.OPEN) {
        this.close(4408, 'This reader is too slow');
        setTimeout(() => this.terminate(), cutAfterMs).unref();
      }
      (typeof second === 'function' ? (second as Sent) : third)?.();
    }

    /** Resolves when a replay may go on, or the connection is gone. */
    async drained(): Promise<void> {
      const stream = this.#stream;
      const most = Math.min(replayBytes, maxUnsentBytes / 4);
      if (!stream) return;
      const isFull = () => this.bufferedAmount > most && !stream.destroyed;
      while (isFull()) await drainOrClose(stream);
    }

    #isFlooding(): boolean {
      const now = performance.now();
      if (now >= this.#windowEndsAt) {
        this.#windowEndsAt = now + 1_000;
        this.#received = 0;
      }
      this.#received += 1;
      return this.#received > maxMessagesPerSecond;
    }
  };
}

/** Resolves when a stream has written all that it had, or is closed. */
function drainOrClose(stream: Duplex): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const changed = () => {
    stream.off('drain', changed).off('close', changed);
    resolve();
  };
  stream.on('drain', changed).on('close', changed);
  return promise;
}

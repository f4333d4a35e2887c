import type { Duplex } from 'node:stream';
import { WebSocket } from 'ws';

export interface ClientSocketLimits {
  maxUnsentBytes: number;
  maxMessagesPerSecond: number;
}

const cutAfterMs = 1_000;

const batchBytes = 65_536;

const replayBytes = 262_144;

type Data = Parameters<WebSocket['send']>[0];
type Sent = (error?: Error) => void;

export function clientSocket({ maxUnsentBytes, maxMessagesPerSecond }: ClientSocketLimits) {
  return class ClientSocket extends WebSocket {
    #stream: Duplex | undefined;
    #isBatching = false;
    #received = 0;
    #windowEndsAt = 0;

    override emit(event: string | symbol, ...args: unknown[]): boolean {
      // ws closes the socket after a protocol error; graphql-ws would also print it.
      if (event === 'error') return true;
      if (event === 'message' || event === 'ping' || event === 'pong') {
        if (this.readyState !== WebSocket.OPEN) return true; // ignores frames after the close
        if (this.#isFlooding()) {
          this.close(4429, 'Too many messages');
          return true;
        }
      }
      return super.emit(event, ...args);
    }

    /** Sends the frames of one event loop iteration in one system call, which dominates the cost of small frames. */
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

    /** Never waits for the client, because the unsent bytes are what identifies a slow reader. */
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

function drainOrClose(stream: Duplex): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const changed = () => {
    stream.off('drain', changed).off('close', changed);
    resolve();
  };
  stream.on('drain', changed).on('close', changed);
  return promise;
}

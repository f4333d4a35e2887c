import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Duplex, pipeline } from 'node:stream';

/** Answers the pieces that pass instead of `bytes`, each when it is to. Where it throws, the connection is cut. */
export type Change = (bytes: Buffer) => Iterable<Buffer> | AsyncIterable<Buffer>;

/** What happens to the bytes of one connection, on their way to the server and back. */
export interface Tap {
  asked?: Change;
  answered?: Change;
}

/**
 * One address in front of several servers, `host:port` each. A connection goes to the one that has the fewest of them, and to
 * another one where that does not take it: what a Service does in a cluster. Tests have it do what else networks do.
 */
export class TcpProxy {
  /** Until it is open, 0 stands for any free one. */
  port: number;
  readonly #targets: string[];
  readonly #tap: () => Tap;
  /** All that are open, each with the server that it leads to. */
  readonly #sockets = new Map<Socket, string>();
  readonly #server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, (client) => {
    void this.#pass(this.#hold(client, 'this one'));
  });

  /** @param options.tap is asked once for each connection. */
  constructor(targets: string[], { port = 0, tap = () => ({}) }: { port?: number; tap?: () => Tap } = {}) {
    this.port = port;
    this.#targets = targets;
    this.#tap = tap;
  }

  /** Takes connections, also again after `close`. @throws Error with code EADDRINUSE where the port is taken. */
  async open(): Promise<this> {
    this.#server.listen(this.port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.port = (this.#server.address() as AddressInfo).port;
    return this;
  }

  /** Takes no more connections and cuts those that are open. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets.keys()) socket.destroy();
    await closed;
  }

  async #pass(client: Socket): Promise<void> {
    const load = (target: string) => [...this.#sockets.values()].filter((each) => each === target).length;
    for (const target of this.#targets.toSorted((one, other) => load(one) - load(other))) {
      const [host = '', port] = target.split(':');
      const upstream = this.#hold(connect({ host, port: Number(port), allowHalfOpen: true, noDelay: true }), target);
      const isTaken = await once(upstream, 'connect').then(
        () => true,
        () => false,
      );
      if (!isTaken) continue;
      const { asked, answered } = this.#tap();
      pipeline([client, ...changing(asked), upstream], () => undefined);
      pipeline([upstream, ...changing(answered), client], () => undefined);
      return;
    }
    client.destroy();
  }

  #hold(socket: Socket, target: string): Socket {
    this.#sockets.set(socket, target);
    return socket.on('error', () => socket.destroy()).once('close', () => this.#sockets.delete(socket));
  }
}

function changing(change: Change | undefined): Duplex[] {
  if (!change) return [];
  async function* changed(source: AsyncIterable<Buffer>) {
    for await (const bytes of source) yield* change?.(bytes) ?? [];
  }
  return [Duplex.from(changed)];
}

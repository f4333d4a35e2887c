import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Duplex, pipeline } from 'node:stream';

/** Returns the bytes to forward in place of received bytes. If the function throws, the connection is destroyed. */
export type Change = (bytes: Buffer) => Iterable<Buffer> | AsyncIterable<Buffer>;

/** Changes the bytes of one connection: of requests (`asked`) and responses (`answered`). */
export interface Tap {
  asked?: Change;
  answered?: Change;
}

export interface TcpProxyOptions {
  /** The address that the proxy listens on. Default 127.0.0.1. */
  host?: string;
  /** The port. Default: 0, any free port. */
  port?: number;
  /** Called once for each connection. */
  tap?: () => Tap;
  /** Whether to try another server when one refuses a connection. Default true. kube-proxy does not try another one. */
  passesOver?: boolean;
}

/**
 * A load balancer for several servers (`host:port` each), like a Kubernetes Service. A new connection goes to the server with the fewest
 * connections, or to another server if that one refuses the connection. With a tap, tests simulate network faults.
 */
export class TcpProxy {
  /** The port that the proxy listens on. If it is 0, `open` chooses a free port. */
  port: number;
  readonly #host: string;
  #targets: string[];
  readonly #tap: () => Tap;
  readonly #passesOver: boolean;
  /** The open sockets, each with the address of its server. */
  readonly #sockets = new Map<Socket, string>();
  readonly #server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, (client) => {
    void this.#pass(this.#hold(client, 'this one'));
  });

  constructor(
    targets: string[],
    { host = '127.0.0.1', port = 0, tap = () => ({}), passesOver = true }: TcpProxyOptions = {},
  ) {
    this.#host = host;
    this.port = port;
    this.#targets = targets;
    this.#tap = tap;
    this.#passesOver = passesOver;
  }

  /** Accepts connections; may be called again after `close`. @throws Error with code EADDRINUSE if the port is taken */
  async open(): Promise<this> {
    this.#server.listen(this.port, this.#host);
    await once(this.#server, 'listening');
    this.port = (this.#server.address() as AddressInfo).port;
    return this;
  }

  /** Sends new connections to these servers; open connections are unchanged. */
  retarget(targets: string[]): void {
    this.#targets = targets;
  }

  /** Refuses new connections and destroys open ones. */
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
      if (!isTaken && this.#passesOver) continue;
      if (!isTaken) break;
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

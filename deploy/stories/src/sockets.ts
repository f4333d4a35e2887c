import { type ClientOptions, createClient } from 'graphql-ws';
import { WebSocket } from 'ws';
import type { GraphError } from './graph-error.ts';

interface SocketOptions extends Pick<ClientOptions, 'on'> {
  url: string;
  /** The credentials are sent as `connectionParams`. Their `x-forwarded-for`, the client's address, is also sent as a header. */
  credentials: Record<string, string>;
}

/** Creates a graphql-ws client with one socket, which is opened at once and does not reconnect. */
export function openSocket({ url, credentials, on }: SocketOptions) {
  return createClient({
    url: url.replace(/^http/, 'ws'),
    retryAttempts: 0,
    lazy: false,
    onNonLazyError: () => undefined,
    connectionParams: credentials,
    webSocketImpl: class extends WebSocket {
      constructor(address: string, protocols: string[]) {
        super(address, protocols, { headers: { 'x-forwarded-for': credentials['x-forwarded-for'] ?? '' } });
      }
    },
    ...(on && { on }),
  });
}

export interface SubscriptionOptions<Data> extends Pick<SocketOptions, 'url' | 'credentials'> {
  query: string;
  variables: Record<string, unknown>;
  next(data: Data): void;
  /** Called when the gateway has accepted the credentials. */
  connected?(): void;
}

/**
 * A subscription on a separate socket. The socket stays open when the subscription ends, so that a test can observe which side closes it.
 */
export class Subscription<Data> {
  /** The gateway's URL. */
  readonly url: string;
  /** Errors that ended the subscription. */
  errors: GraphError[] | undefined;
  /** The code and reason with which the socket was closed. */
  closed: { code: number; reason: string } | undefined;
  /**
   * Resolves when the subscription has ended: with the socket's close code, e.g. `closed 4403`, with the code and reason of the
   * subscription's error, or with `completed`.
   */
  readonly end: Promise<string>;
  readonly #client: ReturnType<typeof openSocket>;
  #socket: WebSocket | undefined;

  constructor({ url, credentials, query, variables, next, connected }: SubscriptionOptions<Data>) {
    const { promise, resolve } = Promise.withResolvers<string>();
    this.url = url;
    this.end = promise;
    this.#client = openSocket({
      url,
      credentials,
      on: {
        opened: (socket) => {
          this.#socket = socket as WebSocket;
        },
        connected: () => connected?.(),
        closed: (event) => {
          const { code, reason } = event as { code: number; reason: string };
          this.closed ??= { code, reason };
          resolve(`closed ${code}`);
        },
      },
    });
    const failed = (errors: unknown) => {
      if (!Array.isArray(errors)) return; // the socket failed, which the `closed` handler reports
      this.errors = errors as GraphError[];
      resolve(codeOf(this.errors));
    };
    this.#client.subscribe<Data>(
      { query, variables },
      {
        next: ({ data, errors }) => {
          failed(errors);
          if (data) next(data);
        },
        error: failed,
        complete: () => resolve('completed'),
      },
    );
  }

  /** Destroys the socket without a closing handshake, like a network failure. */
  cut(): void {
    this.#socket?.terminate();
  }

  async close(): Promise<void> {
    await this.#client.dispose();
  }
}

/**
 * Subscribes on a separate socket. Returns `ok` when the first event arrives, or, if the subscription ends without an event, how it ended.
 */
export async function subscribeOutcome(options: Omit<SubscriptionOptions<unknown>, 'next'>): Promise<string> {
  const first = Promise.withResolvers<string>();
  const subscription = new Subscription({ ...options, next: () => first.resolve('ok') });
  const outcome = await Promise.race([subscription.end, first.promise]);
  await subscription.close();
  return outcome;
}

/** Returns the code of the first error, with the reason. */
export function codeOf([error]: readonly GraphError[]): string {
  return [error?.extensions.code, error?.extensions.reason].filter(Boolean).join(' ');
}

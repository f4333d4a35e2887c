import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { DomainError, isDomainError } from '@parley/chassis/errors';
import { formatGraphError, graphError } from '@parley/chassis/graph/graph-errors';
import type { Logger } from '@parley/chassis/log';
import { type ExecutionArgs, GraphQLError, type GraphQLSchema, subscribe } from 'graphql';
import type { Context } from 'graphql-ws';
import { type Extra, useServer } from 'graphql-ws/use/ws';
import { type ServerOptions, WebSocket, WebSocketServer } from 'ws';
import type { GatewayConfig } from '../config.ts';
import type { Authenticate, Origin } from '../credentials/authenticate.ts';
import { presentedIn } from '../credentials/presented.ts';
import { rootFields } from '../graph/root-fields.ts';
import type { OpenSocket, OpenSockets } from './open-sockets.ts';
import { subscriptionDocuments } from './subscription-documents.ts';
import type { SubscriptionContext } from './subscriptions.ts';

export interface SocketServerOptions {
  http: Server;
  schema: () => GraphQLSchema;
  config: Pick<GatewayConfig, 'socket' | 'maxTokens' | 'introspection'>;
  authenticate: Authenticate;
  open: OpenSockets;
  originOf: (request: IncomingMessage) => Origin;
  log: Logger;
}

export interface SocketServer {
  /** Closes every socket with 1001, and cuts those that do not answer in time. */
  close(): Promise<void>;
}

interface SocketState extends Record<PropertyKey, unknown> {
  held: OpenSocket;
}
type SocketContext = Context<Record<string, unknown>, Extra & Partial<SocketState>>;

/** A reader that has this much unsent is closed: one slow client must not fill the gateway's memory. */
const maxUnsentBytes = 1_048_576;

/** How long a client may take to answer a close before its connection is cut. */
const closeTimeoutMs = 5_000;

/** What a client breaks on its socket ends that socket, which ws sees to; graphql-ws would also write it to the console. */
class ClientSocket extends WebSocket {
  override emit(event: string | symbol, ...args: unknown[]): boolean {
    return event === 'error' || super.emit(event, ...args);
  }
}

/** Subscriptions over graphql-ws, on the path and port of HTTP. */
export function socketServer(options: SocketServerOptions): SocketServer {
  const { http, schema, config, authenticate, open, originOf, log } = options;
  const serverOptions: ServerOptions<typeof ClientSocket> & { closeTimeout: number } = {
    WebSocket: ClientSocket,
    noServer: true,
    maxPayload: config.socket.maxFrameBytes,
    perMessageDeflate: false,
    closeTimeout: closeTimeoutMs,
  };
  const sockets = new WebSocketServer(serverOptions);
  const documents = subscriptionDocuments(schema, { maxTokens: config.maxTokens, hints: config.introspection });
  const format = formatGraphError(log);

  http.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    if (request.url?.split('?')[0] === '/graphql') {
      sockets.handleUpgrade(request, stream, head, (socket) => sockets.emit('connection', socket, request));
    } else {
      stream.on('error', () => stream.destroy());
      stream.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
    }
  });

  const graphqlWs = useServer<Record<string, unknown>, SocketState>(
    {
      schema,
      isProd: true, // never tells a client what went wrong inside
      connectionInitWaitTimeout: config.socket.initTimeoutMs,
      async onConnect(context) {
        const parameters = context.connectionParams ?? {};
        if (parameters['x-app-platform'] !== 'customer') return false; // graphql-ws closes with 4403
        const { socket, request } = context.extra;
        const held: OpenSocket = {
          presented: presentedIn(parameters),
          origin: originOf(request),
          refuse: () => socket.close(4403, 'Forbidden'),
        };
        Object.assign(context.extra, { held });
        return open.admit(held);
      },
      onClose({ extra }) {
        if (extra.held) open.drop(extra.held);
      },

      async onSubscribe(context, _id, { query, operationName, variables }) {
        try {
          return await argsFor(context, query, operationName, variables);
        } catch (error) {
          if (isDomainError(error) && error.kind !== 'internal') return [graphError(error)];
          log.error({ err: error }, 'subscription failed');
          return [graphError(new DomainError('internal', 'subscription failed'))];
        }
      },
      async subscribe(args) {
        try {
          return await subscribe(args);
        } catch (error) {
          // What throws here would end the whole socket.
          return { errors: [new GraphQLError('subscription failed', { originalError: asError(error) })] };
        }
      },
      onOperation(_context, _id, _payload, args, result) {
        if (!('return' in result)) return undefined;
        const { abort } = args.contextValue as { abort: () => void };
        // Leaving must reach the source at once: a generator that waits for its next item cannot be ended from outside.
        const leave = result.return.bind(result);
        result.return = (value: unknown) => {
          abort();
          return leave(value);
        };
        return result;
      },
      onNext({ extra }, _id, _payload, _args, result) {
        if (extra.socket.bufferedAmount > maxUnsentBytes) extra.socket.close(4408, 'This reader is too slow');
        if (!result.errors) return undefined;
        return { data: result.data ?? null, errors: result.errors.map((error) => format(error.toJSON(), error)) };
      },
      onError: (_context, _id, _payload, errors) => errors.map((error) => format(error.toJSON(), error)),
    },
    sockets,
  );

  async function argsFor(
    context: SocketContext,
    query: string,
    operationName: string | null | undefined,
    variables: Record<string, unknown> | null | undefined,
  ): Promise<ExecutionArgs | GraphQLError[]> {
    const { maxSubscriptions } = config.socket;
    if (Object.keys(context.subscriptions).length > maxSubscriptions) {
      throw new DomainError('tooManyRequests', `A socket carries at most ${maxSubscriptions} subscriptions`);
    }
    const { held } = context.extra;
    if (!held) throw new Error('A socket subscribes that was never admitted');
    const found = documents(query, operationName, variables);
    if (Array.isArray(found)) return found;
    const caller = await authenticate(rootFields(found.document, found.operation), held.presented, held.origin);
    const controller = new AbortController();
    const contextValue: SubscriptionContext & { abort: () => void } = {
      caller,
      signal: controller.signal,
      abort: () => controller.abort(),
    };
    return {
      schema: schema(),
      document: found.document,
      contextValue,
      ...(operationName && { operationName }),
      ...(variables && { variableValues: variables }),
    };
  }

  return {
    async close() {
      const cut = setTimeout(() => {
        for (const socket of sockets.clients) socket.terminate();
      }, closeTimeoutMs);
      await graphqlWs.dispose();
      clearTimeout(cut);
    },
  };
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

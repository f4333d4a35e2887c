import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { formatGraphError, graphError } from '@parley/graph/graph-errors';
import { errorTable } from '@parley/kernel/error-table';
import { DomainError, isDomainError } from '@parley/kernel/errors';
import { clientNetwork } from '@parley/kernel/http/client-network';
import type { RequestScheduler } from '@parley/kernel/queues/request-scheduler';
import type { Logger } from '@parley/kernel/telemetry/log';
import { type ExecutionArgs, GraphQLError, type GraphQLSchema } from 'graphql';
import type { Context } from 'graphql-ws';
import { type Extra, useServer } from 'graphql-ws/use/ws';
import { type ServerOptions, WebSocketServer } from 'ws';
import type { GatewayConfig } from '../config.ts';
import type { Authenticate } from '../credentials/authenticate.ts';
import type { Origin } from '../credentials/credentials.ts';
import { readCredentials } from '../credentials/credentials.ts';
import type { Documents } from '../graph/documents.ts';
import { rootFields } from '../graph/root-fields.ts';
import { type RawRefusal, refuseRaw } from '../http/raw-refusals.ts';
import { clientCounts } from '../limits/client-counts.ts';
import { type Throttle, throttleMessage } from '../limits/throttle.ts';
import { clientSocket } from './client-socket.ts';
import { frameScheduler } from './frame-scheduler.ts';
import type { OpenSocket, OpenSockets } from './open-sockets.ts';
import { type ReplayPace, replayPace } from './replay-pace.ts';
import type { ReplayScheduler } from './replay-scheduler.ts';
import { sharedResults } from './shared-results.ts';
import { readSubscription } from './subscription-documents.ts';
import type { SubscriptionContext } from './subscriptions.ts';

export interface SocketServerOptions {
  http: Server;
  schema: () => GraphQLSchema;
  config: Pick<GatewayConfig, 'socket' | 'maxSockets' | 'maxSocketsPerClient'>;
  documents: Documents;
  authenticate: Authenticate;
  throttle: Throttle;
  open: OpenSockets;
  replays: ReplayScheduler;
  scheduler: Pick<RequestScheduler, 'run'>;
  originOf: (request: IncomingMessage) => Origin;
  log: Logger;
}

export interface SocketServer {
  /** Closes sockets with 1001 and terminates those that do not answer in time. */
  close(): Promise<void>;
}

interface SocketState extends Record<PropertyKey, unknown> {
  entry: OpenSocket;
  pace: ReplayPace;
}
type SocketContext = Context<Record<string, unknown>, Extra & Partial<SocketState>>;

const closeTimeoutMs = 5_000;

/** Maximum number of fragments per message. Each fragment costs time, but only the whole message is scheduled and counted. */
const maxFragments = 64;

/** Reports whether a request asks for a WebSocket. Other protocols in `upgrade` are ignored, as HTTP allows. */
export function asksForSocket({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';
}

export function socketServer(options: SocketServerOptions): SocketServer {
  const { http, schema, config, documents, authenticate, throttle, open, replays, scheduler, originOf, log } = options;
  const ClientSocket = clientSocket(config.socket, frameScheduler({ ...config.socket, scheduler }));
  const serverOptions: ServerOptions<typeof ClientSocket> & { closeTimeout: number } = {
    WebSocket: ClientSocket,
    noServer: true,
    maxPayload: config.socket.maxFrameBytes,
    maxFragments,
    perMessageDeflate: false,
    closeTimeout: closeTimeoutMs,
  };
  const sockets = new WebSocketServer(serverOptions);
  const clients = clientCounts();
  const format = formatGraphError(log);
  const subscribe = sharedResults();

  http.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    const { ip, requestId } = originOf(request);
    const client = clientNetwork(ip);
    const refusal = refusalOf(request, client);
    if (refusal) return refuseRaw(stream, { ...refusal, requestId });
    sockets.handleUpgrade(request, stream, head, (socket) => {
      clients.add(client, 1);
      socket.once('close', () => clients.add(client, -1));
      socket.attach(stream, client);
      sockets.emit('connection', socket, request);
    });
  });
  sockets.on('wsClientError', (_error, stream, request) => {
    const message = 'This is no handshake of a WebSocket';
    refuseRaw(stream, { status: 400, message, requestId: originOf(request).requestId });
  });
  sockets.on('headers', (headers, request) => headers.push(`X-Request-Id: ${originOf(request).requestId}`));

  function refusalOf(request: IncomingMessage, client: string): RawRefusal | undefined {
    if (request.url?.split('?')[0] !== '/graphql') {
      return { status: 404, message: 'There is no socket here', code: 'NOT_FOUND' };
    }
    if (clients.of(client) >= config.maxSocketsPerClient) {
      const message = `One address may hold ${config.maxSocketsPerClient} sockets; close some first`;
      return { status: 429, message, code: 'TOO_MANY_REQUESTS' };
    }
    if (sockets.clients.size < config.maxSockets) return undefined;
    return { status: 503, message: 'No more sockets can be held; try again in a while', code: 'UNAVAILABLE' };
  }

  const graphqlWs = useServer<Record<string, unknown>, SocketState>(
    {
      schema,
      isProd: true, // hides internal errors from clients
      connectionInitWaitTimeout: config.socket.initTimeoutMs,
      async onConnect(context) {
        const parameters = context.connectionParams ?? {};
        if (parameters['x-app-platform'] !== 'customer') return false; // graphql-ws closes with 4403
        const { socket, request } = context.extra;
        const entry: OpenSocket = {
          credentials: readCredentials(parameters),
          origin: originOf(request),
          refuse: () => socket.close(4403, 'Forbidden'),
        };
        const pace = replayPace(async () => {
          if (socket instanceof ClientSocket) await socket.drained();
        }, replays);
        Object.assign(context.extra, { entry, pace } satisfies SocketState);
        const admission = await open.admit(entry);
        // Closes with 1013, after which clients reconnect. The close with 4403 by graphql-ws comes later and has no effect.
        if (admission === 'unavailable') socket.close(1013, 'Try again later');
        return admission === 'admitted';
      },
      onClose({ extra }) {
        if (extra.entry) open.drop(extra.entry);
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
          // If `subscribe` threw, graphql-ws would close the whole socket.
          return { errors: [new GraphQLError('subscription failed', { originalError: asError(error) })] };
        }
      },
      onOperation(_context, _id, _payload, args, result) {
        if (!('return' in result)) return undefined;
        const { abort } = args.contextValue as { abort: () => void };
        // A generator that waits for its next item cannot be ended from outside, so the source is aborted.
        const leave = result.return.bind(result);
        result.return = (value: unknown) => {
          abort();
          return leave(value);
        };
        return result;
      },
      onNext(_context, _id, _payload, _args, result) {
        if (!result.errors) return undefined;
        return { data: result.data ?? null, errors: result.errors.map((error) => format(error.toJSON(), error)) };
      },
      onError({ extra: { socket } }, _id, _payload, errors) {
        const formatted = errors.map((error) => format(error.toJSON(), error));
        const isRefusal = formatted.some(({ extensions }) => extensions?.code === errorTable.tooManyRequests.code);
        if (isRefusal && socket instanceof ClientSocket) socket.countRefusal();
        return formatted;
      },
    },
    sockets,
    config.socket.pingMs,
  );

  async function argsFor(
    context: SocketContext,
    query: string,
    operationName: string | null | undefined,
    variables: Record<string, unknown> | null | undefined,
  ): Promise<ExecutionArgs | GraphQLError[]> {
    const { maxSubscriptions } = config.socket;
    const { entry, pace } = context.extra;
    if (Object.keys(context.subscriptions).length > maxSubscriptions) {
      throw new DomainError('tooManyRequests', `A socket carries at most ${maxSubscriptions} subscriptions`);
    }
    if (!entry || !pace) throw new Error('A socket subscribes that was never admitted');
    const read = readSubscription(documents, query, operationName, variables);
    if (Array.isArray(read)) return read;
    const fields = rootFields(read.document, read.operation);
    const caller = await authenticate(fields, entry.credentials, entry.origin);
    const refused = (await throttle(fields, entry.origin.ip))?.refused;
    if (refused) throw new DomainError('tooManyRequests', throttleMessage(refused));
    const controller = new AbortController();
    const contextValue: SubscriptionContext & { abort: () => void } = {
      caller,
      signal: controller.signal,
      pace,
      abort: () => controller.abort(),
    };
    return {
      schema: schema(),
      document: read.document,
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

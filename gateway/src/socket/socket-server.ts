import type { IncomingMessage, Server } from 'node:http';
import type { Caller } from '@parley/chassis/caller';
import { DomainError, isDomainError } from '@parley/chassis/errors';
import { formatGraphError, graphError } from '@parley/chassis/graph/graph-errors';
import type { Logger } from '@parley/chassis/log';
import { type ExecutionArgs, GraphQLError, type GraphQLSchema } from 'graphql';
import type { Context } from 'graphql-ws';
import { type Extra, useServer } from 'graphql-ws/use/ws';
import { WebSocketServer } from 'ws';
import type { GatewayConfig } from '../config.ts';
import type { Authenticate, Origin } from '../credentials/authenticate.ts';
import { type Presented, presentedIn } from '../credentials/presented.ts';
import { rootFields } from '../graph/root-fields.ts';
import { subscriptionDocuments } from './subscription-documents.ts';
import type { SubscriptionContext } from './subscriptions.ts';

export interface SocketServerOptions {
  http: Server;
  schema: () => GraphQLSchema;
  config: GatewayConfig;
  authenticate: Authenticate;
  /** Who a socket belongs to, when it is opened and whenever its credential may have changed. */
  ownerOf: (presented: Presented, origin: Origin) => Promise<Caller | undefined>;
  originOf: (request: IncomingMessage) => Origin;
  log: Logger;
}

export interface SocketServer {
  /** Looks at the credential of every open socket again and closes, with 4403, those that no longer hold. */
  recheck(): Promise<void>;
  /** Closes every socket with 1001. */
  close(): Promise<void>;
}

interface SocketState extends Record<PropertyKey, unknown> {
  presented: Presented;
  origin: Origin;
}
type SocketContext = Context<Record<string, unknown>, Extra & Partial<SocketState>>;

/** A reader that has this much unsent is closed: one slow client must not fill the gateway's memory. */
const maxUnsentBytes = 1_048_576;

/** Subscriptions over graphql-ws, on the path and port of HTTP. */
export function socketServer(options: SocketServerOptions): SocketServer {
  const { http, schema, config, authenticate, ownerOf, originOf, log } = options;
  const sockets = new WebSocketServer({
    server: http,
    path: '/graphql',
    maxPayload: config.socket.maxFrameBytes,
    perMessageDeflate: false,
  });
  const open = new Set<SocketContext>();
  const documents = subscriptionDocuments(schema, config.maxTokens);
  const format = formatGraphError(log);

  const graphqlWs = useServer<Record<string, unknown>, SocketState>(
    {
      schema,
      connectionInitWaitTimeout: config.socket.initTimeoutMs,
      async onConnect(context) {
        const parameters = context.connectionParams ?? {};
        if (parameters['x-app-platform'] !== 'customer') return false; // graphql-ws closes with 4403
        const state: SocketState = { presented: presentedIn(parameters), origin: originOf(context.extra.request) };
        Object.assign(context.extra, state);
        if (!(await holds(state))) return false;
        open.add(context);
        return true;
      },
      onClose: (context) => void open.delete(context),

      async onSubscribe(context, _id, { query, operationName, variables }) {
        try {
          return await argsFor(context, query, operationName, variables);
        } catch (error) {
          if (isDomainError(error)) return [graphError(error)];
          log.error({ err: error }, 'subscription failed');
          return [graphError(new DomainError('internal', 'subscription failed'))];
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
    if (Object.keys(context.subscriptions).length > config.socket.maxSubscriptions) {
      throw new DomainError('tooManyRequests', `A socket carries at most ${config.socket.maxSubscriptions} subscriptions`);
    }
    const found = documents(query, operationName);
    if (Array.isArray(found)) return found;
    const { presented = {}, origin = originOf(context.extra.request) } = context.extra;
    const caller = await authenticate(rootFields(found.document, found.operation), presented, origin);
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

  async function holds({ presented, origin }: SocketState): Promise<boolean> {
    try {
      await ownerOf(presented, origin);
      return true;
    } catch (error) {
      // Only a clear refusal ends a socket; while identity is away nobody is thrown out.
      return !(isDomainError(error, 'unauthenticated') || isDomainError(error, 'forbidden'));
    }
  }

  return {
    async recheck() {
      await Promise.all(
        [...open].map(async ({ extra }) => {
          if (!(await holds(extra as SocketState))) extra.socket.close(4403, 'Forbidden');
        }),
      );
    },
    close: async () => graphqlWs.dispose(),
  };
}

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { clientNetwork } from '@parley/chassis/client-network';
import type { RequestHandler } from 'express';
import { clientCounts } from '../limits/client-counts.ts';
import { clientConnection } from './client-connection.ts';
import { refuse } from './http-rules.ts';
import type { RequestTurn, RequestTurns } from './request-turns.ts';

export interface ConnectionLimits {
  /** Connections of all clients, sockets included. */
  maxConnections: number;
  /** The same of one client, and its requests under way. */
  maxConnectionsPerClient: number;
  /** How long an answer that is written may wait for a client that reads nothing of it, in ms. */
  answerStallMs: number;
}

/**
 * Bounds the connections of a server: one more than all may hold, or one client, is closed at once, and so is one that stops
 * reading its answer. A trusted proxy holds those of many clients: there it is their requests that count.
 */
export function boundConnections(
  http: Server,
  { maxConnections, maxConnectionsPerClient, answerStallMs }: ConnectionLimits,
  isProxy: (address: string) => boolean,
): void {
  const clients = clientCounts();
  http.maxConnections = maxConnections;
  http.prependListener('connection', (connection: Socket) => {
    const address = connection.remoteAddress ?? '';
    if (isProxy(address)) return;
    const client = clientNetwork(address);
    if (clients.of(client) >= maxConnectionsPerClient) return void connection.destroy();
    clients.add(client, 1);
    connection.once('close', () => clients.add(client, -1));
  });
  http.prependListener('request', (_request, response) => {
    // From here on only the client can be what is waited for. Node sets the time of an idle connection after the answer.
    response.once('prefinish', () => response.socket?.setTimeout(answerStallMs));
  });
}

export interface RequestAdmission {
  /** Lets a request in to `handle` when its turn has come. */
  admit(request: IncomingMessage, response: ServerResponse, handle: () => void): void;
  /** Refuses one of a client who has too many under way, over however many connections they came: it was let in at once. */
  refuseTooMany: RequestHandler;
  /** Goes on in a turn of its own where the one in which it was let in is over, because its body was still on the way. */
  resume: RequestHandler;
}

/** How requests come in: each client's in turn, and so many at once of each. Those that wait for their turn are under way. */
export function requestAdmission(
  { maxConnectionsPerClient }: Pick<ConnectionLimits, 'maxConnectionsPerClient'>,
  clientOf: (request: IncomingMessage) => string,
  turns: RequestTurns,
): RequestAdmission {
  const clients = clientCounts();
  const tooMany = new WeakSet<IncomingMessage>();

  const turnOf = (request: IncomingMessage, response: ServerResponse): RequestTurn => ({
    request,
    client: clientOf(request),
    signal() {
      const closed = new AbortController();
      clientConnection(response).onClose(() => closed.abort());
      return closed.signal;
    },
  });

  return {
    admit(request, response, handle) {
      const turn = turnOf(request, response);
      const { client } = turn;
      if (clients.of(client) >= maxConnectionsPerClient) {
        tooMany.add(request);
        return handle();
      }
      clients.add(client, 1);
      response.once('close', () => clients.add(client, -1));
      void turns.take(turn, handle);
    },
    refuseTooMany(request, response, next) {
      if (!tooMany.has(request)) return next();
      response.setHeader('connection', 'close'); // whatever else it sends
      refuse(response, 429, 'This address has too many requests under way', 'TOO_MANY_REQUESTS');
    },
    resume: (request, response, next) => turns.take(turnOf(request, response), next),
  };
}

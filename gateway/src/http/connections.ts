import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { clientNetwork } from '@parley/chassis/client-network';
import type { RequestHandler } from 'express';
import { clientCounts } from '../limits/client-counts.ts';
import { refuse } from './http-rules.ts';

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

/** Refuses who has too many requests under way, over however many connections they came. */
export function boundRequests(
  { maxConnectionsPerClient }: Pick<ConnectionLimits, 'maxConnectionsPerClient'>,
  clientOf: (request: IncomingMessage) => string,
): RequestHandler {
  const clients = clientCounts();
  return (request, response, next) => {
    const client = clientOf(request);
    if (clients.of(client) >= maxConnectionsPerClient) {
      response.setHeader('connection', 'close'); // whatever else it sends
      return refuse(response, 429, 'This address has too many requests under way', 'TOO_MANY_REQUESTS');
    }
    clients.add(client, 1);
    response.once('close', () => clients.add(client, -1));
    next();
  };
}

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { clientNetwork } from '@parley/kernel/http/client-network';
import type { RequestScheduler, ScheduledRequest } from '@parley/kernel/queues/request-scheduler';
import type { RequestHandler } from 'express';
import { clientCounts } from '../limits/client-counts.ts';
import { clientConnection } from './client-connection.ts';
import { refuse } from './http-rules.ts';

export interface ConnectionLimits {
  maxConnections: number;
  maxConnectionsPerClient: number;
  /** Time in ms that a finished response may wait for a client that does not read. */
  answerStallMs: number;
}

/** Bounds connections, in total and per client. Behind a trusted proxy, requests are counted instead of connections. */
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
    // After this event only the client can delay the response. Once the response has been sent, Node sets the idle timeout itself.
    response.once('prefinish', () => response.socket?.setTimeout(answerStallMs));
  });
}

export interface RequestAdmission {
  admit(request: IncomingMessage, response: ServerResponse, handle: () => void): void;
  /** Answers 429 when the client has too many requests in progress, over any number of connections. */
  refuseTooMany: RequestHandler;
  /** Schedules the request again if its first slot was released while its body was still arriving. */
  resume: RequestHandler;
}

/** Admits requests round-robin between clients and bounds the number of requests of each client. Waiting requests count as in progress. */
export function requestAdmission(
  { maxConnectionsPerClient }: Pick<ConnectionLimits, 'maxConnectionsPerClient'>,
  clientOf: (request: IncomingMessage) => string,
  scheduler: RequestScheduler,
): RequestAdmission {
  const clients = clientCounts();
  const tooMany = new WeakSet<IncomingMessage>();

  const scheduledOf = (request: IncomingMessage, response: ServerResponse): ScheduledRequest => ({
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
      const scheduled = scheduledOf(request, response);
      const { client } = scheduled;
      if (clients.of(client) >= maxConnectionsPerClient) {
        tooMany.add(request);
        return handle();
      }
      clients.add(client, 1);
      response.once('close', () => clients.add(client, -1));
      void scheduler.run(scheduled, handle);
    },
    refuseTooMany(request, response, next) {
      if (!tooMany.has(request)) return next();
      response.setHeader('connection', 'close'); // the rest of what the client sends is ignored
      refuse(response, 429, 'This address has too many requests under way', 'TOO_MANY_REQUESTS');
    },
    resume: (request, response, next) => scheduler.run(scheduledOf(request, response), next),
  };
}

import { createServer, type RequestListener, type Server } from 'node:http';
import { trustedProxy } from '@parley/kernel/http/client-address';
import type { GatewayConfig } from '../config.ts';
import { asksForSocket } from '../socket/socket-server.ts';
import { boundConnections } from './connections.ts';
import { refuseUnreadable } from './raw-refusals.ts';

/**
 * Creates the server for clients, with its limits on connections and its answers to unreadable requests. The server does not listen yet.
 */
export function publicHttp(config: GatewayConfig, app: RequestListener): Server {
  const http = createServer(
    {
      keepAliveTimeout: 65_000,
      requireHostHeader: false, // the app refuses requests without a Host header, with an API error
      shouldUpgradeCallback: asksForSocket,
      requestTimeout: config.requestTimeoutMs,
      headersTimeout: Math.min(10_000, config.requestTimeoutMs),
      connectionsCheckingInterval: Math.min(5_000, config.requestTimeoutMs),
    },
    app,
  );
  refuseUnreadable(http);
  boundConnections(http, config, trustedProxy(config.trustedProxies));
  return http;
}

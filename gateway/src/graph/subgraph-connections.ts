import { setTimeout as delay } from 'node:timers/promises';
import { idleConnectionMs } from '@parley/kernel/http/http-drain';
import { unlessAborted } from '@parley/kernel/timing/abort';
import type { MeshTls } from '@parley/kernel/tls/mesh';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import { type FieldRules } from './field-rules.ts';
import { isRetryable } from './split-mutations.ts';
import { subgraphAddresses } from './subgraph-addresses.ts';

export interface SubgraphConnectionsOptions {
  url: string;
  rules: FieldRules;
  tls: MeshTls | undefined;
  /** Interval in ms at which the name in `url` is resolved again. */
  lookupIntervalMs: number;
  /** Maximum number of connections to one address. Undefined: unbounded. */
  connections: number | undefined;
  /** Maximum age of a connection in ms. */
  connectionMs: number;
  maxAnswerBytes: number;
  /** Called when no connection to an address was opened. The address is then skipped for a while. */
  onUnreached?: (origin: string, error: unknown) => void;
}

export interface Message {
  query: string;
  headers: Record<string, string>;
  body: string;
  signal: AbortSignal;
}

const connectTimeoutMs = 1_000;
/** Timeout for opening a connection with TLS. It is longer than for TCP alone: the handshake needs the other process, which may be busy. */
const tlsConnectTimeoutMs = 5_000;
/** Maximum attempts for a request whose connection closes before the response or cannot be opened. */
const maxAttempts = 3;
/** Pause in ms before a reconnect to the same address, so that a load balancer can notice which process has stopped. */
const reconnectPauseMs = 50;

/**
 * HTTP connections to one subgraph. Each address of its processes has a pool. Requests go to the address with the fewest requests in
 * flight.
 */
export function subgraphConnections(options: SubgraphConnectionsOptions) {
  const { url, rules, tls, lookupIntervalMs, connections, connectionMs, maxAnswerBytes } = options;
  const { onUnreached = () => undefined } = options;
  const addresses = subgraphAddresses({ url, lookupIntervalMs });
  const { host } = new URL(url);
  // Closes the pool of an address once its last connection has closed.
  const pools = new Agent({
    connections: connections ?? null,
    // If HTTP/2 were allowed, all requests to an address would wait for one connection that finds out the version of HTTP.
    allowH2: false,
    connectTimeout: connectTimeoutMs,
    ...(tls && { connect: tlsConnector(tls) }),
    // The timeouts of undici exclude the wait in the queue and restart with every byte.
    headersTimeout: 0,
    bodyTimeout: 0,
    // Shorter than a draining server's linger time; its keep-alive header is ignored.
    keepAliveTimeout: idleConnectionMs,
    keepAliveMaxTimeout: idleConnectionMs,
    // Under constant load a connection to a load balancer would never close, and processes added behind it would get none.
    clientTtl: connectionMs,
    maxResponseSize: maxAnswerBytes,
  });

  return {
    /** Retries when a stopping server closes the connection. Queries are always retried, mutations only if no part of them was sent. */
    async post({ query, ...message }: Message): Promise<Dispatcher.ResponseData> {
      const { signal } = message;
      // TLS expects a certificate for the name in the `host` header.
      const headers = { ...message.headers, host };
      for (let attempt = 1; ; ) {
        const address = await addresses.choose(signal);
        const { origin } = address;
        try {
          // A request that waits in the pool for a connection does not observe its signal.
          const response = await unlessAborted(
            pools.request({ ...message, headers, origin, method: 'POST', path: '/' }),
            signal,
          );
          address.responded();
          return response;
        } catch (error) {
          const isUnreached = wasNotSent(error);
          if (isUnreached) onUnreached(origin, error);
          const othersRemain = isUnreached && address.skip();
          if (!isUnreached) address.failed();
          signal.throwIfAborted();
          if (othersRemain) continue; // each address fails once and is then skipped
          if (attempt === maxAttempts) throw error;
          if (wasRefused(error)) await delay(reconnectPauseMs * attempt, undefined, { signal });
          // Lets the pool notice other connections that the server has closed.
          else if ((isOneOf(closedCodes, error) || isOneOf(refusedCodes, error)) && isRetryable(query, rules))
            await delay(0, undefined, { signal });
          else throw error;
          attempt += 1;
        }
      }
    },
    close: () => pools.close(),
  };
}

/** Reports whether a request failed before any of it was sent: no connection was opened, or the server's certificate was refused. */
export function wasNotSent(error: unknown): boolean {
  const isOfConnect = error instanceof Error && 'syscall' in error && error.syscall === 'connect';
  return isOfConnect || wasRefused(error) || isOneOf(unreachedCodes, error) || isOfCertificate(error);
}

function isOfCertificate(error: unknown): boolean {
  const pattern = /^(?:ERR_TLS_CERT|CERT_|UNABLE_TO_|SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED)/u;
  return error instanceof Error && 'code' in error && pattern.test(String(error.code));
}

/** An open connection can also fail with these codes, when a route disappears. So the system call that failed must be `connect`. */
function wasRefused(error: unknown): boolean {
  return isOneOf(refusedCodes, error) && !('syscall' in error && error.syscall !== 'connect');
}

/** Opens connections with the current certificate. */
function tlsConnector(tls: MeshTls): buildConnector.connector {
  const build = () => buildConnector({ ...tls.current, allowH2: false, timeout: tlsConnectTimeoutMs });
  let connect = build();
  tls.onChange(() => {
    connect = build();
  });
  return (options, connected) => connect(options, connected);
}

/** Codes of a connection that closed before any response. */
const closedCodes = new Set<unknown>(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

/** Codes of a connection that was refused at once. */
const refusedCodes = new Set<unknown>(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH']);

/** Codes of attempts that opened no connection. A retry would take as long as the attempt, unlike a retry after one of `refusedCodes`. */
const unreachedCodes = new Set<unknown>(['ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']);

function isOneOf(codes: Set<unknown>, error: unknown): error is Error {
  return error instanceof Error && 'code' in error && codes.has(error.code);
}

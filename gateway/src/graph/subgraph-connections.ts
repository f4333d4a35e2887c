import { setTimeout as delay } from 'node:timers/promises';
import { idleConnectionMs } from '@parley/kernel/http/http-drain';
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

/** HTTP connections to one subgraph: a pool for each address of its processes, which are used in turn. */
export function subgraphConnections(options: SubgraphConnectionsOptions) {
  const { url, rules, tls, lookupIntervalMs, connections, connectionMs, maxAnswerBytes } = options;
  const addresses = subgraphAddresses({ url, lookupIntervalMs });
  const { host } = new URL(url);
  // Closes the pool of an address once its last connection has closed.
  const pools = new Agent({
    connections: connections ?? null,
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
    /** Retries when a stopping server closes the connection: queries always, mutations only if nothing of them was sent. */
    async post({ query, ...message }: Message): Promise<Dispatcher.ResponseData> {
      const { signal } = message;
      // TLS expects a certificate for the host of this header.
      const headers = { ...message.headers, host };
      for (let attempt = 1; ; attempt += 1) {
        const origin = await addresses.next(signal);
        try {
          return await pools.request({ ...message, headers, origin, method: 'POST', path: '/' });
        } catch (error) {
          const othersRemain = wasNotSent(error) && addresses.skip(origin);
          if (attempt === maxAttempts) throw error;
          if (othersRemain) signal.throwIfAborted();
          else if (wasRefused(error)) await delay(reconnectPauseMs * attempt, undefined, { signal });
          // Lets the pool notice other connections that the server has closed.
          else if ((isOneOf(closedCodes, error) || isOneOf(refusedCodes, error)) && isRetryable(query, rules))
            await delay(0, undefined, { signal });
          else throw error;
        }
      }
    },
    close: () => pools.close(),
  };
}

/** Whether a request failed before any of it was sent. */
export function wasNotSent(error: unknown): boolean {
  return wasRefused(error) || isOneOf(unreachedCodes, error);
}

/** An open connection can fail with the same codes when a route disappears, so the system call must be `connect`. */
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

/** Codes of attempts that opened no connection. Unlike after `refusedCodes`, a retry would take as long again. */
const unreachedCodes = new Set<unknown>(['ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']);

function isOneOf(codes: Set<unknown>, error: unknown): error is Error {
  return error instanceof Error && 'code' in error && codes.has(error.code);
}

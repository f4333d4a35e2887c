import { setTimeout as delay } from 'node:timers/promises';
import { idleConnectionMs } from '@parley/kernel/http/http-drain';
import type { MeshTls } from '@parley/kernel/tls/mesh';
import { buildConnector, type Dispatcher, Pool } from 'undici';
import { type FieldRules } from './field-rules.ts';
import { isRetryable } from './split-mutations.ts';

export interface SubgraphConnectionsOptions {
  url: string;
  rules: FieldRules;
  tls: MeshTls | undefined;
  /** How many there are at once; undefined: as many as are needed. */
  connections: number | undefined;
  /** How long one is used, in ms. */
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
/** The handshake waits for the other process, a connection alone only for its system. */
const tlsConnectTimeoutMs = 5_000;
/** Sends of a request whose connection closes before the response, or does not come about. */
const maxAttempts = 3;
/** Before a connection is tried again: a balancer learns meanwhile which process is gone. */
const reconnectPauseMs = 50;

/** Pooled HTTP connections to one subgraph. */
export function subgraphConnections(options: SubgraphConnectionsOptions) {
  const { url, rules, tls, connections, connectionMs, maxAnswerBytes } = options;
  const pool = new Pool(new URL(url).origin, {
    connections: connections ?? null,
    connectTimeout: connectTimeoutMs,
    ...(tls && { connect: tlsConnector(tls) }),
    // The timeouts of undici exclude the wait in the queue and restart with every byte.
    headersTimeout: 0,
    bodyTimeout: 0,
    // Less than servers that stop wait for one more request, whatever they announce.
    keepAliveTimeout: idleConnectionMs,
    keepAliveMaxTimeout: idleConnectionMs,
    // While there is always a request, a connection would stay, and processes of the service that are added would get none.
    clientTtl: connectionMs,
    maxResponseSize: maxAnswerBytes,
  });

  return {
    /**
     * A stopping server closes idle connections. Queries are sent again; a mutation only where none of it was sent, because it may
     * have run.
     */
    async post({ query, ...message }: Message): Promise<Dispatcher.ResponseData> {
      const { signal } = message;
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await pool.request({ ...message, method: 'POST', path: '/' });
        } catch (error) {
          if (attempt === maxAttempts) throw error;
          if (wasRefused(error)) await delay(reconnectPauseMs * attempt, undefined, { signal });
          // Lets the pool notice other connections that the server has closed.
          else if ((isOneOf(closedCodes, error) || isOneOf(refusedCodes, error)) && isRetryable(query, rules))
            await delay(0, undefined, { signal });
          else throw error;
        }
      }
    },
    close: () => pool.close(),
  };
}

/** Whether a request failed before any of it was sent. */
export function wasNotSent(error: unknown): boolean {
  return wasRefused(error) || isOneOf(unreachedCodes, error);
}

/** A connection that is lost has the same codes, where a router answers that there is no way to the other process any more. */
function wasRefused(error: unknown): boolean {
  return isOneOf(refusedCodes, error) && !('syscall' in error && error.syscall !== 'connect');
}

/** Opens connections with the certificate that counts at the time. */
function tlsConnector(tls: MeshTls): buildConnector.connector {
  const build = () => buildConnector({ ...tls.current, allowH2: false, timeout: tlsConnectTimeoutMs });
  let connect = build();
  tls.onChange(() => {
    connect = build();
  });
  return (options, connected) => connect(options, connected);
}

/** The connection closed before any response. */
const closedCodes = new Set<unknown>(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

/** There was no connection, which was known at once. */
const refusedCodes = new Set<unknown>(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH']);

/** There was no connection either, and to try again takes as long. */
const unreachedCodes = new Set<unknown>(['ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']);

function isOneOf(codes: Set<unknown>, error: unknown): error is Error {
  return error instanceof Error && 'code' in error && codes.has(error.code);
}

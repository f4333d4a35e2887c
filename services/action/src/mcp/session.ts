import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { type Progress, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { isDomainError } from '@parley/kernel/errors';
import { headerProblem } from '@parley/outbound/header-problem';
import type { Outbound } from '@parley/outbound/outbound';
import { refusedUrl } from '@parley/outbound/outbound-errors';
import { z } from 'zod';
import { StatusError, unauthorized, unreachable } from './connector-errors.ts';
import type { WorkOn } from './event-messages.ts';
import { type Exchange, exchanges, type Room } from './exchange.ts';
import type { McpConnector } from './mcp-connector.ts';
import { mcpFetch } from './mcp-fetch.ts';

export type { Progress };

export interface McpRequest {
  method: 'tools/list' | 'tools/call';
  params: Record<string, unknown>;
  /** Additional headers of the HTTP request. */
  headers?: Record<string, string>;
}

export interface RequestLimits {
  /** Cancels the request, also at the server. */
  signal: AbortSignal;
  timeoutMs: number;
  /** See `Exchange.room`. */
  room?: Room;
  onProgress?: (progress: Progress) => void;
}

/** An initialized session with an MCP server. The server itself may be stateless. */
export interface McpSession {
  /** Whether the server gave the session an id. Such a session can be lost. */
  readonly hasId: boolean;
  /**
   * Sends a request.
   * @throws McpError for a JSON-RPC error of the server
   * @throws StatusError for an HTTP error
   * @throws DomainError for any other failure
   * @throws the signal's reason if it aborts
   */
  request(request: McpRequest, limits: RequestLimits): Promise<Record<string, unknown>>;
  /** Ends the session and cancels its requests. Never rejects. @param isLost whether the server has lost the session, so it is not notified */
  close(isLost?: boolean): Promise<void>;
}

export interface SessionOptions {
  outbound: Pick<Outbound, 'stream'>;
  /** Aborts the initialization. */
  signal: AbortSignal;
  timeoutMs: number;
  onToolsChanged(): void;
  workOn: WorkOn;
}

/** The reason that servers get in cancellation notices. */
const reasonShown = 'no longer needed';

const anyResult = z.looseObject({});

/** A timeout for the SDK that never fires, because each exchange has its own, shorter timeout. */
const neverMs = 2 ** 31 - 1;

const clientInfo = { name: 'parley', version: '1' };

/** Disables the SDK's validation of results by schema. */
const jsonSchemaValidator = {
  getValidator: () => () => ({ valid: false, data: undefined, errorMessage: 'not validated' }) as const,
};

/**
 * Initializes a session.
 * @throws StatusError if the server responds with an HTTP error
 * @throws DomainError for any other failure
 */
export async function openSession(connector: McpConnector, options: SessionOptions): Promise<McpSession> {
  const authorization = `Bearer ${connector.apiKey}`;
  // Node's own error for an invalid header would quote the credential.
  if (headerProblem('authorization', authorization)) throw unauthorized();
  if (!URL.canParse(connector.serverUrl)) throw refusedUrl('must be a URL');
  const { outbound, signal, timeoutMs, onToolsChanged, workOn } = options;
  const transport = new StreamableHTTPClientTransport(new URL(connector.serverUrl), {
    fetch: mcpFetch(outbound, workOn),
    requestInit: { headers: { authorization } },
  });
  // The SDK does not end the request when it gives up resuming its stream.
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport is no EventTarget
  transport.onerror = (error) => {
    if (error.message.startsWith('Maximum reconnection')) exchanges.getStore()?.fail(unreachable());
  };
  const client = new Client(clientInfo, { jsonSchemaValidator });
  client.setNotificationHandler(ToolListChangedNotificationSchema, onToolsChanged);

  let isClosed = false;
  async function close(isLost = false): Promise<void> {
    if (!isLost) await transport.terminateSession().catch(() => undefined);
    isClosed = true;
    await client.close().catch(() => undefined);
  }

  try {
    const limits = { headers: {}, timeoutMs, signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) };
    await exchange(limits, () => client.connect(transport as Transport, { timeout: neverMs }));
  } catch (error) {
    void close();
    throw error instanceof StatusError || isDomainError(error) ? error : unreachable();
  }

  return {
    get hasId() {
      return transport.sessionId !== undefined;
    },
    async request({ method, params, headers = {} }, limits) {
      const { signal: callerSignal, timeoutMs: ms, room, onProgress = () => undefined } = limits;
      try {
        const kept: Exchange['kept'] = {};
        const answer = await exchange({ headers, timeoutMs: ms, signal: callerSignal, room, kept }, (signal) =>
          client.request({ method, params }, anyResult, { signal, timeout: neverMs, onprogress: onProgress }),
        );
        return kept.result ?? answer;
      } catch (error) {
        // The SDK's error for a closed connection looks like an error of the server.
        throw isClosed ? unreachable() : error;
      }
    },
    close,
  };
}

/** Runs one request of the SDK and then closes its connection. @param send gets a signal that cancels the request */
async function exchange<T>(
  { signal, ...given }: Pick<Exchange, 'headers' | 'timeoutMs' | 'signal' | 'room' | 'kept'>,
  send: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const over = new AbortController();
  const cancelled = new AbortController();
  const failed = Promise.withResolvers<never>();
  const counts = { isAnswered: false, isOver: false, isResumable: false, resumed: 0, messages: 0, asked: 0 };
  const context: Exchange = { ...given, ...counts, signal: over.signal, fail: failed.reject };
  const leave = () => failed.reject(signal.reason);
  signal.addEventListener('abort', leave);
  let isSettled = false;
  const answer = exchanges
    .run(context, () => send(cancelled.signal))
    .finally(() => {
      isSettled = true;
    });
  try {
    return await Promise.race([answer, failed.promise]);
  } finally {
    signal.removeEventListener('abort', leave);
    over.abort();
    // A request that was not sent yet is cancelled too; otherwise the SDK would keep it. The server gets no notice of such a request.
    context.isOver = isSettled;
    if (!(isSettled && context.isAnswered)) exchanges.run(context, () => cancelled.abort(reasonShown));
  }
}

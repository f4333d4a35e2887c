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
  /** Headers of the HTTP request that sends it. */
  headers?: Record<string, string>;
}

export interface RequestLimits {
  /** Cancels the request at the server, too. */
  signal: AbortSignal;
  timeoutMs: number;
  /** As of `Exchange`. */
  room?: Room;
  onProgress?: (progress: Progress) => void;
}

/** An initialised session with an MCP server, even if the server itself keeps none. */
export interface McpSession {
  /** Whether the server keeps it under an id, which it may forget. */
  readonly hasId: boolean;
  /** @throws McpError: the server's own; StatusError, DomainError; the signal's reason */
  request(request: McpRequest, limits: RequestLimits): Promise<Record<string, unknown>>;
  /** Ends what is under way. @param isLost the server does not know it any more. Never rejects. */
  close(isLost?: boolean): Promise<void>;
}

export interface SessionOptions {
  outbound: Pick<Outbound, 'stream'>;
  /** Ends the initialisation. */
  signal: AbortSignal;
  timeoutMs: number;
  onToolsChanged(): void;
  workOn: WorkOn;
}

/** Why a request is cancelled, as servers are told. */
const reasonShown = 'no longer needed';

const anyResult = z.looseObject({});

/** Longer than any exchange, whose own end comes first. */
const neverMs = 2 ** 31 - 1;

const clientInfo = { name: 'parley', version: '1' };

/** No result is held against a schema by the SDK. */
const jsonSchemaValidator = {
  getValidator: () => () => ({ valid: false, data: undefined, errorMessage: 'not validated' }) as const,
};

/** Initialises a session. @throws StatusError, DomainError */
export async function openSession(connector: McpConnector, options: SessionOptions): Promise<McpSession> {
  const authorization = `Bearer ${connector.apiKey}`;
  // The platform's own error would quote the value.
  if (headerProblem('authorization', authorization)) throw unauthorized();
  if (!URL.canParse(connector.serverUrl)) throw refusedUrl('must be a URL');
  const { outbound, signal, timeoutMs, onToolsChanged, workOn } = options;
  const transport = new StreamableHTTPClientTransport(new URL(connector.serverUrl), {
    fetch: mcpFetch(outbound, workOn),
    requestInit: { headers: { authorization } },
  });
  // The SDK has tried to resume a stream, and gives up without ending the request.
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
      const { signal: ending, timeoutMs: ms, room, onProgress = () => undefined } = limits;
      try {
        const kept: Exchange['kept'] = {};
        const answer = await exchange({ headers, timeoutMs: ms, signal: ending, room, kept }, (signal) =>
          client.request({ method, params }, anyResult, { signal, timeout: neverMs, onprogress: onProgress }),
        );
        return kept.result ?? answer;
      } catch (error) {
        // The SDK's error of a closed connection looks like one of the server.
        throw isClosed ? unreachable() : error;
      }
    },
    close,
  };
}

/** Runs one request of the SDK, and closes its connection when it is over. @param send is given the signal that cancels the request */
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
    // A request that was not sent is cancelled, too, since the SDK would remember it; but the server is not notified.
    context.isOver = isSettled;
    if (!(isSettled && context.isAnswered)) exchanges.run(context, () => cancelled.abort(reasonShown));
  }
}

import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import { isDomainError } from '@parley/kernel/errors';
import { callDeadline } from './call-deadline.ts';
import { connectorError, unreachable } from './connector-errors.ts';
import type { McpConnector } from './mcp-connector.ts';
import type { McpPorts } from './mcp-ports.ts';
import type { McpRequest, Progress } from './session.ts';
import { refusedResult, type ToolResult, toolResult } from './tool-result.ts';

export interface ToolCall {
  name: string;
  args: Record<string, unknown>;
  /** The key is sent as a header and inside the request. A call that the server may have started is never sent again, even with a key. */
  idempotencyKey?: string | undefined;
}

export interface CallOptions {
  signal?: AbortSignal | undefined;
  /** Maximum time of the whole call, including its time in the queue. Default: 30,000. */
  timeoutMs?: number | undefined;
  onProgress?: ((progress: Progress) => void) | undefined;
  /** Receives the function that releases the queue slot. Default: the slot is released when the call ends. */
  keepSlot?: ((release: () => void) => void) | undefined;
  /** Whether images, audio and binary resources include their data. Default: only type and size. */
  withMedia?: boolean | undefined;
}

/**
 * Calls a tool once. Every response of the server is a result, even if it refuses the tool or its arguments.
 * @throws DomainError with a `ConnectorReason` or an `OutboundReason` if the call fails
 * @throws DomainError `tooManyRequests` if the queue refuses the call
 * @throws the signal's reason if it aborts
 */
export async function callTool(
  ports: McpPorts,
  connector: McpConnector,
  call: ToolCall,
  options: CallOptions = {},
): Promise<ToolResult> {
  const { limits, inSession } = ports;
  const { timeoutMs = limits.timeoutMs, onProgress, keepSlot, withMedia } = options;
  const { signal, progressed, end } = callDeadline({ timeoutMs, idleMs: limits.idleMs, signal: options.signal });
  const watch = (progress: Progress) => {
    progressed();
    onProgress?.(progress);
  };
  try {
    const answer = await inSession(
      connector,
      { waitsWith: 'calls', signal, isRepeatable: false, keepSlot },
      (session) => {
        progressed();
        return session.request(requestOf(call), { signal, timeoutMs, onProgress: watch });
      },
    );
    return toolResult(answer, { maxBytes: limits.maxResultBytes, withMedia });
  } catch (error) {
    if (isDomainError(error, 'tooManyRequests')) throw error;
    if (signal.aborted) throw signal.reason;
    if (error instanceof McpError) return await refusalOf(ports, connector, call.name, error);
    throw connectorError(error);
  } finally {
    end();
  }
}

function requestOf({ name, args, idempotencyKey }: ToolCall): McpRequest {
  const params = { name, arguments: args };
  if (!idempotencyKey) return { method: 'tools/call', params };
  return {
    method: 'tools/call',
    params: { ...params, _meta: { idempotencyKey } },
    headers: { 'idempotency-key': idempotencyKey },
  };
}

const notUnderstood = new Set<number>([ErrorCode.ParseError, ErrorCode.InvalidRequest]);

/** Converts a JSON-RPC error of the server to a result. @throws DomainError if the server could not parse the request */
async function refusalOf(
  { limits, toolsOf }: McpPorts,
  connector: McpConnector,
  tool: string,
  { code, message }: McpError,
): Promise<ToolResult> {
  const text = message.replace(/^MCP error -?\d+: /u, '');
  const form = { maxBytes: limits.maxResultBytes };
  if (notUnderstood.has(code)) throw unreachable();
  if (code === ErrorCode.MethodNotFound) return refusedResult('TOOL_NOT_FOUND', text, form);
  if (code !== ErrorCode.InvalidParams) return refusedResult('TOOL_FAILED', text, form);
  // Servers send the same code for an unknown tool and for refused arguments, with different texts. The list of tools distinguishes the two
  // cases.
  const known = await toolsOf(connector).catch(() => undefined);
  const isKnown = known?.tools.some(({ name }) => name === tool) ?? true;
  return refusedResult(isKnown ? 'TOOL_ARGUMENTS_REFUSED' : 'TOOL_NOT_FOUND', text, form);
}

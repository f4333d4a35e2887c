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
  /** Sent as a header and within the request. A call that may have begun is not sent again, with or without one. */
  idempotencyKey?: string | undefined;
}

export interface CallOptions {
  signal?: AbortSignal | undefined;
  /** The longest time of the whole call, its wait for a turn included. Default: 30,000. */
  timeoutMs?: number | undefined;
  onProgress?: ((progress: Progress) => void) | undefined;
  /** Takes what ends the call's turn, instead of its end with the call. */
  keepSlot?: ((release: () => void) => void) | undefined;
  /** Whether images, sound and binary resources come with their data. Default: only with type and size. */
  withMedia?: boolean | undefined;
}

/**
 * Calls a tool once. What the server answers, its refusal of the tool or its arguments included, is a result.
 * @throws DomainError with a `ConnectorReason` or an `OutboundReason`; `tooManyRequests`; the signal's reason
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

/** The server's error in JSON-RPC as a result. @throws DomainError where the server did not understand the request at all */
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
  // An unknown tool and refused arguments have the same code, and each server has its own words for them.
  const known = await toolsOf(connector).catch(() => undefined);
  const isKnown = known?.tools.some(({ name }) => name === tool) ?? true;
  return refusedResult(isKnown ? 'TOOL_ARGUMENTS_REFUSED' : 'TOOL_NOT_FOUND', text, form);
}

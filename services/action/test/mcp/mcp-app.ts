import type { DomainError } from '@parley/kernel/errors';
import { outbound } from '@parley/outbound/outbound';
import type { ExecutionContext } from 'ava';
import { pino } from 'pino';
import type { CallOptions, ToolCall } from '../../src/mcp/call-tool.ts';
import { mcpClient } from '../../src/mcp/mcp-client.ts';
import type { McpConnector } from '../../src/mcp/mcp-connector.ts';
import type { McpClientLimits } from '../../src/mcp/mcp-ports.ts';

export const canary = 'canary-5f2c9a';

export interface McpAppOptions {
  limits?: Partial<McpClientLimits>;
  now?: () => number;
  allowlist?: string[];
}

/** Creates a client that may call loopback addresses, and a connector of tenant 1. */
export function mcpApp(
  t: ExecutionContext,
  serverUrl: string,
  { limits = {}, now, allowlist = ['127.0.0.1'] }: McpAppOptions = {},
) {
  const logged: string[] = [];
  const log = pino({ base: null }, { write: (line) => void logged.push(line) });
  const guard = outbound({ allowlist, ports: ['1-65535'], log });
  const client = mcpClient({ outbound: guard, log, limits, ...(now ? { now } : {}) });
  t.teardown(() => client.stop());
  const connector: McpConnector = { tenantId: 1, id: 7, version: '1', serverUrl, apiKey: canary };

  /** Returns `kind REASON` of the error with which `work` fails. Asserts that neither the error nor the log contains the credential. */
  async function failure(work: Promise<unknown>): Promise<string> {
    try {
      await work;
      return 'none';
    } catch (error) {
      const { kind, reason, message } = error as DomainError;
      t.false(`${message} ${describe(error)} ${logged.join('\n')}`.includes(canary), 'the credential is shown');
      return `${kind ?? message} ${reason ?? ''}`.trim();
    }
  }

  const call = (given: Partial<ToolCall> = {}, options: CallOptions = {}) =>
    client.callTool(connector, { name: 'echo', args: {}, ...given }, options);

  return {
    client,
    connector,
    logged,
    call,
    list: (signal?: AbortSignal) => client.listTools(connector, signal),
    failure,
    callFailure: (given: Partial<ToolCall> = {}, options: CallOptions = {}) => failure(call(given, options)),
    listFailure: () => failure(client.listTools(connector)),
  };
}

/** Returns all text of an error, including its causes. */
function describe(error: unknown): string {
  return error instanceof Error ? `${error.stack} ${JSON.stringify(error)} ${describe(error.cause)}` : String(error);
}

import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import { redactor } from '../custom-actions/redact.ts';
import { callDeadline } from './call-deadline.ts';
import { connectorError } from './connector-errors.ts';
import { listTools, type ToolList } from './list-tools.ts';
import type { McpConnector } from './mcp-connector.ts';
import type { McpPorts } from './mcp-ports.ts';
import type { McpSession, RequestLimits } from './session.ts';

/** Of all pages: twice what is kept. */
const maxBytes = 2 * 2 ** 20;

/** Asks the server for all its tools. @throws DomainError with a `ConnectorReason` or an `OutboundReason` */
export async function readTools({ limits, log, inSession }: McpPorts, connector: McpConnector): Promise<ToolList> {
  const { timeoutMs } = limits;
  const { signal, end } = callDeadline({ timeoutMs, idleMs: timeoutMs });
  try {
    const list = await inSession(connector, { waitsWith: 'lists', signal, isRepeatable: true }, (session) =>
      readPages(session, { signal, timeoutMs }, redactor([connector.apiKey]).json),
    );
    if (list.isCut) log.warn({ connectorId: connector.id, tools: list.tools.length }, 'tool list of a connector cut');
    return list;
  } catch (error) {
    const hasNone = error instanceof McpError && error.code === ErrorCode.MethodNotFound;
    if (hasNone) return { tools: [], bytes: 0, isCut: false };
    throw connectorError(error);
  } finally {
    end();
  }
}

/** Servers repeat the credential that they were sent, in tools too. */
function readPages(session: McpSession, limits: RequestLimits, redact: (value: unknown) => unknown): Promise<ToolList> {
  const room = { left: maxBytes };
  const pageAfter = (cursor?: string) => {
    const params = cursor === undefined ? {} : { cursor };
    return session.request({ method: 'tools/list', params }, { ...limits, room });
  };
  return listTools(pageAfter, redact);
}

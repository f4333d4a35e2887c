import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import { redactor } from '../custom-actions/redact.ts';
import { callDeadline } from './call-deadline.ts';
import { connectorError } from './connector-errors.ts';
import { listTools, type ToolList } from './list-tools.ts';
import type { McpConnector } from './mcp-connector.ts';
import type { McpPorts } from './mcp-ports.ts';
import type { McpSession, RequestLimits } from './session.ts';

/** Maximum size of all pages together. It is twice the maximum size of the list of tools that is kept from them. */
const maxBytes = 2 * 2 ** 20;

/** Reads all tools from the server. @throws DomainError with a `ConnectorReason` or an `OutboundReason` if the tools cannot be read */
export async function readTools(ports: McpPorts, connector: McpConnector): Promise<ToolList> {
  const { limits, log, inSession } = ports;
  const { timeoutMs } = limits;
  const { signal, end } = callDeadline({ timeoutMs, idleMs: timeoutMs });
  try {
    const list = await inSession(connector, { waitsWith: 'lists', signal, isRepeatable: true }, (session) =>
      readPages(ports, connector, session, { signal, timeoutMs }),
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

/** Reads all pages. The credential is redacted, because servers may echo it even in tools. */
function readPages(
  { workOn }: McpPorts,
  { tenantId, apiKey }: McpConnector,
  session: McpSession,
  limits: RequestLimits,
): Promise<ToolList> {
  const room = { remainingBytes: maxBytes };
  const pageAfter = async (cursor?: string) => {
    const params = cursor === undefined ? {} : { cursor };
    const { remainingBytes: before } = room;
    const answer = await session.request({ method: 'tools/list', params }, { ...limits, room });
    return { answer, bytes: before - room.remainingBytes };
  };
  return listTools(pageAfter, {
    redact: redactor([apiKey]).json,
    workOn: (bytes, work) => workOn(tenantId, bytes, work),
  });
}

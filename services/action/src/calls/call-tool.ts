import type { JsonSchemas } from '@parley/json-schema/json-schemas';
import type { TenantRequest } from '@parley/kernel/caller-request';
import { isDomainError, notFound } from '@parley/kernel/errors';
import { connectorStore } from '../connectors/connector-store.ts';
import { type OpenConnector, openConnector } from '../connectors/open-connector.ts';
import { type LargeWork, schemaBytes } from '../large-work.ts';
import type { McpTool } from '../mcp/list-tools.ts';
import type { Ports } from '../ports.ts';
import { callOnce, type MadeResult, type Making } from './call-once.ts';
import { callDeadline } from './call-queue.ts';
import { type CallRequest, callRequest, type GivenCall, idempotencyKeyOf } from './call-request.ts';
import type { CallResult } from './call-result.ts';
import { madeOfTool } from './made-result.ts';

/**
 * Calls a tool of a connector. A failed call is returned as a result, not thrown.
 * @throws DomainError `invalid` for a malformed request
 */
export async function callTool(ports: Ports, request: TenantRequest, given: GivenCall): Promise<CallResult> {
  const call = callRequest(given, ports.limits.callMs);
  return callOnce(ports, request, call, (making) => send(ports, request, call, making));
}

async function send(ports: Ports, { caller }: TenantRequest, call: CallRequest, { signal, keepSlot }: Making) {
  const { ref, args, timeLimitMs } = call;
  const { leftMs } = callDeadline(timeLimitMs);
  const { tenantId } = caller;
  const [row] = await ports.database.read(tenantId, (db) => connectorStore(db).listSealed([ref.target]));
  if (!row) throw notFound('Connector', ref.target);
  const connector = openConnector(ports.box, row);
  const name = ref.toolName ?? '';
  const tool = await listedTool(ports, connector, name, timeLimitMs, signal);
  const refusal = tool && (await argumentsRefusal(ports, tenantId, tool, args));
  if (refusal) return refusal;
  const idempotencyKey = idempotencyKeyOf(tenantId, call);
  const options = { signal, timeoutMs: leftMs(), keepSlot };
  const result = await ports.mcp.callTool(connector, { name, args, idempotencyKey }, options);
  return ports.workOn(tenantId, result.bytes, () => madeOfTool(result, [connector.apiKey]));
}

/** Maximum wait for the list of tools: the smaller of a time in ms and a share of the call's time limit. */
const listing = { maxMs: 2_000, share: 0.25 };

/** Finds the tool's declaration. Returns undefined if the server does not list the tool in time; the call is sent nevertheless. */
async function listedTool(
  { mcp }: Pick<Ports, 'mcp'>,
  connector: OpenConnector,
  name: string,
  timeLimitMs: number,
  signal: AbortSignal,
): Promise<McpTool | undefined> {
  const timeoutSignal = AbortSignal.timeout(Math.min(listing.maxMs, timeLimitMs * listing.share));
  try {
    const tools = await mcp.listTools(connector, AbortSignal.any([signal, timeoutSignal]));
    return tools.find((tool) => tool.name === name);
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

/** Checks the arguments against the tool's schema. The server checks what the schema cannot express. */
async function argumentsRefusal(
  { schemas, workOn }: { schemas: Pick<JsonSchemas, 'argsProblems'>; workOn: LargeWork },
  tenantId: number,
  { inputSchema }: McpTool,
  args: Record<string, unknown>,
): Promise<MadeResult | undefined> {
  const check = () => schemas.argsProblems(inputSchema, args, 'args', { lenient: true, tenantId });
  const problems = await workOn(tenantId, schemaBytes(inputSchema), () => problemsOf(check));
  if (problems.length === 0) return undefined;
  const errorMessage = problems.map(({ path, message }) => `${path} ${message}`).join('; ');
  return { errorKind: 'ARGUMENTS_REFUSED', errorMessage, status: null, headers: {}, body: null, truncated: false };
}

function problemsOf<T>(check: () => T[]): T[] {
  try {
    return check();
  } catch (error) {
    if (isDomainError(error)) return []; // the schema itself is invalid
    throw error;
  }
}

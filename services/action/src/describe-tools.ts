import { schemaLimits } from '@parley/json-schema/json-schemas';
import type { TenantCaller } from '@parley/kernel/caller';
import type { TenantRequest } from '@parley/kernel/caller-request';
import { invalid } from '@parley/kernel/errors';
import { customActionStore } from './actions/custom-action-store.ts';
import type { SealedAction } from './actions/stored-action.ts';
import type { ToolRef } from './calls/call-result.ts';
import { errorKindOf } from './calls/error-kind.ts';
import { targetsOf } from './check-tools.ts';
import { connectorStore, type SealedConnector } from './connectors/connector-store.ts';
import { type ConnectorTool, connectorTools } from './connectors/connector-tools.ts';
import { openConnector } from './connectors/open-connector.ts';
import { describedArgs } from './custom-actions/described-args.ts';
import type { Ports } from './ports.ts';

const maxTools = 20;
const maxDescription = 8_000;

/** The declaration of a tool for a model. */
export interface DescribedTool {
  ref: ToolRef;
  name: string;
  description: string;
  inputSchemaJson: string;
}

export interface MissingTool {
  ref: ToolRef;
  errorKind: string;
}

export interface ToolDescriptions {
  tools: DescribedTool[];
  missing: MissingTool[];
}

type Listing = { tools: ConnectorTool[] } | { errorKind: string };
/** Pending lists of tools by connector id. */
type Listings = Map<number, Promise<Listing>>;

/** The share of the request's time limit for waiting on connectors; the rest covers the work before and after. */
const shareOfTime = 0.7;

/**
 * Describes tools in the order of `refs`. A connector that does not respond in time does not delay the tools of other connectors.
 * @param timeLimitMs how long the caller waits; if 0, `describeMs` applies
 * @throws DomainError `invalid` if there are too many tools
 */
export async function describeTools(
  ports: Ports,
  request: TenantRequest,
  refs: readonly ToolRef[],
  timeLimitMs = 0,
): Promise<ToolDescriptions> {
  const { describeMs } = ports.limits;
  const limitMs = timeLimitMs === 0 ? describeMs : Math.min(describeMs, timeLimitMs * shareOfTime);
  const endsAt = performance.now() + limitMs;
  if (refs.length > maxTools) throw invalid({ path: 'tools', message: `must have at most ${maxTools} tools` });
  const { connectors, actions } = await ports.database.transact(request.caller.tenantId, async (db) => {
    const [connectors, actions] = await Promise.all([
      connectorStore(db).listSealed(targetsOf(refs, 'TOOL')),
      customActionStore(db).listSealed(targetsOf(refs, 'ACTION')),
    ]);
    return { connectors, actions };
  });
  const listings: Listings = new Map(connectors.map((row) => [row.id, listInTime(ports, request, row, endsAt)]));
  const described = await Promise.all(
    refs.map(async (ref) => (ref.kind === 'TOOL' ? describeTool(ref, listings) : describeAction(ref, actions))),
  );
  return {
    tools: described.filter((each) => 'name' in each),
    missing: described.filter((each) => 'errorKind' in each),
  };
}

/** Lists a connector's tools, or fails at `endsAt`. The listing continues in the background, so that the next turn finds it in the cache. */
export async function listInTime(
  ports: Ports,
  { caller }: TenantRequest,
  row: SealedConnector,
  endsAt: number,
): Promise<Listing> {
  const listing = listed(ports, caller, row);
  const tooLate = Promise.withResolvers<{ errorKind: string }>();
  const timer = setTimeout(
    () => tooLate.resolve({ errorKind: 'CONNECTOR_UNREACHABLE' }),
    Math.max(0, endsAt - performance.now()),
  );
  return Promise.race([listing, tooLate.promise]).finally(() => clearTimeout(timer));
}

async function listed(ports: Ports, caller: TenantCaller, row: SealedConnector): Promise<Listing> {
  try {
    return { tools: await connectorTools(ports, caller, openConnector(ports.box, row)) };
  } catch (error) {
    return { errorKind: errorKindOf(error) };
  }
}

async function describeTool(ref: ToolRef & { kind: 'TOOL' }, listings: Listings): Promise<DescribedTool | MissingTool> {
  const list = await (listings.get(ref.target) ?? { errorKind: 'NOT_FOUND' });
  if ('errorKind' in list) return { ref, errorKind: list.errorKind };
  const tool = list.tools.find(({ name }) => name === ref.toolName);
  if (!tool) return { ref, errorKind: 'TOOL_NOT_FOUND' };
  return described(ref, tool.name, tool.description, tool.inputSchema);
}

function describeAction(ref: ToolRef, actions: readonly SealedAction[]): DescribedTool | MissingTool {
  const action = actions.find(({ id }) => id === ref.target);
  if (!action) return { ref, errorKind: 'NOT_FOUND' };
  return described(ref, action.name, action.description, describedArgs(action));
}

/** Truncates a tool's description and refuses a large schema, because servers may send both at any length. */
function described(
  ref: ToolRef,
  name: string,
  description: string | null | undefined,
  inputSchema: object,
): DescribedTool | MissingTool {
  const inputSchemaJson = JSON.stringify(inputSchema);
  if (inputSchemaJson.length > schemaLimits.maxBytes) return { ref, errorKind: 'SCHEMA_TOO_LARGE' };
  return { ref, name, description: (description ?? '').slice(0, maxDescription).toWellFormed(), inputSchemaJson };
}

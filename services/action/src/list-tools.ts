import type { TenantRequest } from '@parley/kernel/caller-request';
import { customActionStore } from './actions/custom-action-store.ts';
import { connectorStore } from './connectors/connector-store.ts';
import { describedArgs } from './custom-actions/described-args.ts';
import { type DescribedTool, listInTime } from './describe-tools.ts';
import type { Ports } from './ports.ts';

const maxDescription = 500;
const maxSchema = 4_000;
const maxAll = 200_000;

export interface ListQuery {
  /** Connectors whose tools are listed. */
  connectorIds: readonly number[];
  /** Whether to list the tools of all connectors, whatever `connectorIds` contains. */
  ofAll: boolean;
  /** Whether tools and actions have a description and a schema. */
  described: boolean;
}

export interface ListedTools {
  connectors: { id: number; name: string; errorKind: string }[];
  /**
   * A tool has no schema if schemas were not requested or the schema is too long. Once all texts together reach their maximum length,
   * further tools have neither a description nor a schema.
   */
  tools: DescribedTool[];
}

type Described = Omit<DescribedTool, 'inputSchemaJson'> & { inputSchema: object };

/**
 * Lists the tools and actions that a tenant can call. A connector that does not respond in time does not delay the tools of other
 * connectors.
 */
export async function listTools(
  ports: Ports,
  request: TenantRequest,
  { connectorIds, ofAll, described }: ListQuery,
): Promise<ListedTools> {
  const endsAt = performance.now() + ports.limits.describeMs;
  const { connectors, actions } = await ports.database.transact(request.caller.tenantId, async (db) => {
    const [connectors, actions] = await Promise.all([
      connectorStore(db).listAllSealed(),
      customActionStore(db).listAll(),
    ]);
    return { connectors, actions };
  });
  const asked = new Set(connectorIds);
  const listed = await Promise.all(
    connectors.map(async (row) => {
      const list = ofAll || asked.has(row.id) ? await listInTime(ports, request, row, endsAt) : { tools: [] };
      return { id: row.id, name: row.name, tools: [], errorKind: '', ...list };
    }),
  );
  const tools: Described[] = [
    ...listed.flatMap(({ id, tools }) =>
      tools.map(({ name, description = '', inputSchema }) => ({
        ref: { kind: 'TOOL' as const, target: id, toolName: name },
        name,
        description,
        inputSchema,
      })),
    ),
    ...actions.map((action) => ({
      ref: { kind: 'ACTION' as const, target: action.id, toolName: null },
      name: action.name,
      description: action.description ?? '',
      inputSchema: describedArgs(action),
    })),
  ];
  return {
    connectors: listed.map(({ id, name, errorKind }) => ({ id, name, errorKind })),
    tools: described ? bounded(tools) : tools.map(undescribed),
  };
}

function undescribed({ ref, name }: Pick<DescribedTool, 'ref' | 'name'>): DescribedTool {
  return { ref, name, description: '', inputSchemaJson: '' };
}

function bounded(tools: readonly Described[]): DescribedTool[] {
  let length = 0;
  return tools.map((tool) => {
    const schema = JSON.stringify(tool.inputSchema);
    const inputSchemaJson = schema.length > maxSchema ? '' : schema;
    const description = tool.description.slice(0, maxDescription).toWellFormed();
    length += description.length + inputSchemaJson.length;
    return length > maxAll ? undescribed(tool) : { ...undescribed(tool), description, inputSchemaJson };
  });
}

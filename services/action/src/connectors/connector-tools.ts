import type { TenantCaller } from '@parley/kernel/caller';
import { recordedCall } from '../calls/recorded-call.ts';
import type { McpTool } from '../mcp/list-tools.ts';
import type { Ports } from '../ports.ts';
import type { OpenConnector } from './open-connector.ts';
import { schemaHash } from './schema-hash.ts';
import { type SeenSchema, toolSchemaStore } from './tool-schema-store.ts';

/** A tool of a connector, and when its schema was first seen to differ from the original one. */
export type ConnectorTool = McpTool & { changedAt: Date | null };

type Changes = Map<string, Date | null>;

/**
 * The schema changes found in each list of tools. The list itself is the key, because the MCP client returns the same object while a list
 * is cached.
 */
const noted = new WeakMap<readonly McpTool[], Promise<Changes>>();

/**
 * Lists the connector's tools, from the cache or the server. When the signal aborts, the list is still read for other callers.
 * @throws DomainError with a `ConnectorReason` or an `OutboundReason` if the tools cannot be read
 */
export async function connectorTools(
  ports: Ports,
  caller: TenantCaller,
  connector: OpenConnector,
  signal?: AbortSignal,
): Promise<ConnectorTool[]> {
  const call = { kind: 'TOOL_LIST', target: connector.id, name: connector.name } as const;
  const tools = await recordedCall(ports, caller, call, () => ports.mcp.listTools(connector, signal));
  const changes = await changesOf(ports, connector, tools);
  return tools.map((tool) => ({ ...tool, changedAt: changes.get(tool.name) ?? null }));
}

function changesOf(
  ports: Pick<Ports, 'database' | 'workOn'>,
  connector: OpenConnector,
  tools: McpTool[],
): Promise<Changes> {
  const known = noted.get(tools);
  if (known) return known;
  const seen = see(ports, connector, tools);
  noted.set(tools, seen);
  seen.catch(() => noted.delete(tools));
  return seen;
}

/** Compares the schemas with those last seen, and writes only if something differs. */
async function see(
  { database, workOn }: Pick<Ports, 'database' | 'workOn'>,
  { tenantId, id }: OpenConnector,
  tools: readonly McpTool[],
): Promise<Changes> {
  // Schemas of any size are hashed, because each list is hashed only once.
  const now = await workOn(tenantId, Number.POSITIVE_INFINITY, () =>
    tools.map(({ name, inputSchema }) => ({ name, hash: schemaHash(inputSchema) })),
  );
  const stored = await database.read(tenantId, (db) => toolSchemaStore(db).listOf(id));
  const byName = new Map(stored.map((schema) => [schema.name, schema]));
  const isSame = now.every(({ name, hash }) => byName.get(name)?.hash === hash);
  const schemas = isSame ? stored : await database.transact(tenantId, (db) => toolSchemaStore(db).see(id, now));
  return new Map(schemas.map(({ name, changedAt }: SeenSchema) => [name, changedAt]));
}

import type { TenantRequest } from '@parley/kernel/caller-request';
import type { Ports } from '../ports.ts';
import type { WorkflowIssue } from '../workflow/definition.ts';
import type { WorkflowReferences } from '../workflow/references.ts';

/** This timeout is longer than the action service's own timeout for connectors. */
const listTimeoutMs = 10_000;

/**
 * Returns the resources in a definition that are absent, deleted or another tenant's. A tool counts as existing if its connector cannot be
 * asked, so that an outage of the connector's server does not prevent publishing.
 * @throws DomainError `unavailable` if knowledge or action cannot be reached
 */
export async function missingReferences(
  ports: Pick<Ports, 'knowledge' | 'action'>,
  request: TenantRequest,
  references: WorkflowReferences,
): Promise<WorkflowIssue[]> {
  const missing = await Promise.all([
    missingBases(ports, request, references),
    missingTools(ports, request, references),
  ]);
  return missing.flat();
}

async function missingBases(
  { knowledge }: Pick<Ports, 'knowledge'>,
  { caller, signal }: TenantRequest,
  { knowledgeBaseIds: named }: WorkflowReferences,
): Promise<WorkflowIssue[]> {
  if (named.length === 0) return [];
  const knowledgeBaseIds = [...new Set(named.map(({ id }) => id))];
  const { knowledgeBases } = await knowledge.listKnowledgeBases({ knowledgeBaseIds }, { caller, signal });
  const found = new Set(knowledgeBases.map(({ id }) => id));
  return named
    .filter(({ id }) => !found.has(id))
    .map(({ id, path }) => ({ path, message: `names the knowledge base ${id}, which is not there` }));
}

async function missingTools(
  { action }: Pick<Ports, 'action'>,
  { caller, signal }: TenantRequest,
  { connectorTools, actionIds }: WorkflowReferences,
): Promise<WorkflowIssue[]> {
  if (connectorTools.length === 0 && actionIds.length === 0) return [];
  const connectorIds = [...new Set(connectorTools.map(({ connectorId }) => connectorId))];
  const { connectors, tools } = await action.listTools({ connectorIds }, { caller, signal, timeoutMs: listTimeoutMs });
  const connectorOf = new Map(connectors.map((connector) => [connector.id, connector]));
  const targets = tools.map(({ ref }) => ref?.target);
  const actions = new Set(targets.map((target) => target?.$case === 'actionId' && target.value));
  const toolNames = new Set(targets.map((target) => target?.$case === 'tool' && toolKey(target.value)));

  function toolProblem(connectorId: number, name: string): string | undefined {
    const connector = connectorOf.get(connectorId);
    if (!connector) return `names the connector ${connectorId}, which is not there`;
    const isThere = connector.errorKind !== '' || toolNames.has(toolKey({ connectorId, name }));
    return isThere ? undefined : `names the tool ${name} of connector ${connectorId}, which is not there`;
  }

  return [
    ...connectorTools.flatMap(({ connectorId, tool, path }) => {
      const message = toolProblem(connectorId, tool);
      return message ? [{ path, message }] : [];
    }),
    ...actionIds
      .filter(({ id }) => !actions.has(id))
      .map(({ id, path }) => ({ path, message: `names the action ${id}, which is not there` })),
  ];
}

function toolKey({ connectorId, name }: { connectorId: number; name: string }): string {
  return `${connectorId} ${name}`;
}

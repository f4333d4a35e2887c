import type { WorkflowDefinition } from './definition.ts';

export interface WorkflowReferences {
  knowledgeBaseIds: { id: number; path: string }[];
  connectorTools: { connectorId: number; tool: string; path: string }[];
  actionIds: { id: number; path: string }[];
}

/**
 * Returns the resources that a definition names (knowledge bases, tools, actions) with their paths, so that the caller
 * can check that they exist.
 */
export function references(definition: WorkflowDefinition): WorkflowReferences {
  const found: WorkflowReferences = { knowledgeBaseIds: [], connectorTools: [], actionIds: [] };

  function addTool(reference: { connectorId: number; tool: string } | { actionId: number }, path: string): void {
    if ('actionId' in reference) found.actionIds.push({ id: reference.actionId, path });
    else found.connectorTools.push({ connectorId: reference.connectorId, tool: reference.tool, path });
  }

  for (const [id, node] of Object.entries(definition.nodes)) {
    const path = `nodes.${id}`;
    if (node.kind === 'tool' || node.kind === 'action') addTool(node, path);
    if (node.kind !== 'llm') continue;
    if (node.knowledgeBaseId !== undefined) {
      found.knowledgeBaseIds.push({ id: node.knowledgeBaseId, path: `${path}.knowledgeBaseId` });
    }
    node.tools?.forEach((reference, index) => addTool(reference, `${path}.tools.${index}`));
  }
  return found;
}

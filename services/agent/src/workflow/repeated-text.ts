import { type LlmNode, nodeOf, type WorkflowDefinition } from './definition.ts';
import { compileTemplate } from './templates.ts';

/** Reports whether the response after an `llm` node consists of exactly the text of the `llm` node. */
export function isRepeated(definition: WorkflowDefinition, id: string, node: LlmNode): boolean {
  const response = nodeOf(definition, node.next);
  if (response?.kind !== 'response') return false;
  const path = compileTemplate(response.text).repeats;
  return [
    ['variables', node.output],
    ['nodes', id, 'output'],
  ].some((own) => own.length === path?.length && own.every((segment, index) => segment === path[index]));
}

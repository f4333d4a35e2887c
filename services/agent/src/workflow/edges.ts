import type { WorkflowNode } from './definition.ts';

export interface Edge {
  /** The edge's path within the node, e.g. `routes.0.next`. */
  path: string;
  /** The condition of the edge; empty if it has none. */
  label: string;
  to: string;
  /** Whether the edge is taken when the user's next message arrives, and not in the same turn. */
  isWait?: boolean;
}

/** Returns the edges that leave a node, in the order of its fields. */
export function edgesOf(node: WorkflowNode): Edge[] {
  return [...ownEdges(node), ...('onError' in node ? [edge('onError', 'on error', node.onError)] : [])];
}

function ownEdges(node: WorkflowNode): Edge[] {
  switch (node.kind) {
    case 'router':
      return [
        ...node.routes.map(({ label, next }, index) => edge(`routes.${index}.next`, label, next)),
        edge('fallback', 'fallback', node.fallback),
      ];
    case 'condition':
      return [
        ...node.cases.map(({ when, next }, index) => edge(`cases.${index}.next`, when, next)),
        edge('otherwise', 'otherwise', node.otherwise),
      ];
    case 'response':
      return node.next === undefined ? [] : [{ ...edge('next', 'next message', node.next), isWait: true }];
    default:
      return [edge('next', '', node.next)];
  }
}

function edge(path: string, label: string, to: string): Edge {
  return { path, label, to };
}

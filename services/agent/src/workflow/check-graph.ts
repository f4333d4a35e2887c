import { nodeOf, type WorkflowDefinition, type WorkflowIssue } from './definition.ts';
import { edgesOf } from './edges.ts';

/**
 * Checks rules that a schema cannot express: edges lead to existing nodes, every node is reachable, labels of a router
 * differ, and every loop contains a `response`. All other nodes have a successor, so every path reaches a `response`,
 * and a turn runs each node at most once.
 */
export function checkGraph(definition: WorkflowDefinition): WorkflowIssue[] {
  return [
    ...unknownTargets(definition),
    ...unreachableNodes(definition),
    ...repeatedLabels(definition),
    ...loopsWithoutResponse(definition),
  ];
}

function unknownTargets(definition: WorkflowDefinition): WorkflowIssue[] {
  const targets = Object.entries(definition.nodes).flatMap(([id, node]) =>
    edgesOf(node).map(({ path, to }) => ({ path: `nodes.${id}.${path}`, to })),
  );
  return [{ path: 'start', to: definition.start }, ...targets]
    .filter(({ to }) => !nodeOf(definition, to))
    .map(({ path, to }) => ({ path, message: `names the node ${to}, which is not there` }));
}

function unreachableNodes(definition: WorkflowDefinition): WorkflowIssue[] {
  if (!nodeOf(definition, definition.start)) return [];
  const reached = new Set<string>();
  const pending = [definition.start];
  for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
    const node = nodeOf(definition, id);
    if (!node || reached.has(id)) continue;
    reached.add(id);
    pending.push(...edgesOf(node).map(({ to }) => to));
  }
  return Object.keys(definition.nodes)
    .filter((id) => !reached.has(id))
    .map((id) => ({ path: `nodes.${id}`, message: 'cannot be reached from start' }));
}

function repeatedLabels(definition: WorkflowDefinition): WorkflowIssue[] {
  return Object.entries(definition.nodes).flatMap(([id, node]) => {
    if (node.kind !== 'router') return [];
    const labels = node.routes.map(({ label }) => label);
    return labels.flatMap((label, index) =>
      labels.indexOf(label) < index
        ? [{ path: `nodes.${id}.routes.${index}.label`, message: 'is the label of another route too' }]
        : [],
    );
  });
}

/** Returns one issue for each edge that closes a loop without a `response`. */
function loopsWithoutResponse(definition: WorkflowDefinition): WorkflowIssue[] {
  const issues: WorkflowIssue[] = [];
  const done = new Set<string>();
  const way: string[] = [];

  function visit(id: string): void {
    const node = nodeOf(definition, id);
    if (!node) return;
    way.push(id);
    for (const { path, to, isWait } of edgesOf(node)) {
      if (isWait) continue;
      const at = way.indexOf(to);
      if (at >= 0) {
        const loop = shownLoop([...way.slice(at), to]);
        issues.push({ path: `nodes.${id}.${path}`, message: `closes a loop without a response: ${loop}` });
      } else if (!done.has(to)) visit(to);
    }
    way.pop();
    done.add(id);
  }

  for (const id of Object.keys(definition.nodes)) if (!done.has(id)) visit(id);
  return issues;
}

const shownNodes = 3;

/** Shortens a loop for display: there may be hundreds of loops of hundreds of nodes. */
function shownLoop(ids: string[]): string {
  const hidden = ids.length - 2 * shownNodes;
  const shown = hidden > 0 ? [...ids.slice(0, shownNodes), `… ${hidden} more …`, ...ids.slice(-shownNodes)] : ids;
  return shown.join(' → ');
}

import type { NodeKind, WorkflowDefinition } from './definition.ts';
import { edgesOf } from './edges.ts';

/** The part of a run that `draw` reads: a trace, as in a state or in the response of `runWorkflowTask`. */
export interface DrawnRun {
  trace: readonly { nodeId: string; error?: unknown }[];
}

const shapes: Record<NodeKind, [string, string]> = {
  llm: ['[', ']'],
  router: ['{', '}'],
  condition: ['{{', '}}'],
  tool: ['[[', ']]'],
  action: ['[[', ']]'],
  response: ['([', '])'],
};

const maxLabelLength = 60;

/**
 * Draws a definition as a Mermaid flowchart. Dotted lines are error edges, and edges that wait for the user's next
 * message. If a run is given, its nodes are filled and its lines thick and numbered in order; a failed node is red.
 */
export function draw(definition: WorkflowDefinition, run: DrawnRun = { trace: [] }): string {
  const ids = Object.keys(definition.nodes);
  // The names are generated, because some words, e.g. `end`, are keywords of Mermaid.
  const nameOf = (id: string) => `n${ids.indexOf(id)}`;
  const way = wayOf(run);
  const lines = ['flowchart TD', `  start(( )) --> ${nameOf(definition.start)}`];
  const taken: number[] = [];
  let links = 1;

  for (const [id, node] of Object.entries(definition.nodes)) {
    const [open, close] = shapes[node.kind];
    lines.push(`  ${nameOf(id)}${open}"${escaped(id)}<br/><small>${node.kind}</small>"${close}`);
  }
  for (const [id, node] of Object.entries(definition.nodes)) {
    const drawn = new Set<string>();
    for (const { path, label, to, isWait } of edgesOf(node)) {
      // If several edges lead to the same node, the trace does not show which edge was taken, so the first edge is
      // numbered.
      const steps = drawn.has(to) ? [] : (way.get(`${id} ${to}`) ?? []);
      drawn.add(to);
      const text = [steps.join(', '), label].filter((part) => part !== '').join(': ');
      const line = isWait || path === 'onError' ? '-.->' : '-->';
      lines.push(`  ${nameOf(id)} ${line}${text === '' ? '' : `|"${escaped(text)}"|`} ${nameOf(to)}`);
      if (steps.length > 0) taken.push(links);
      links += 1;
    }
  }
  return [...lines, ...styles(definition, run, nameOf, taken), ''].join('\n');
}

/** Returns, for each pair of nodes, the numbers of the steps that led from the first node to the second. */
function wayOf({ trace }: DrawnRun): Map<string, number[]> {
  const way = new Map<string, number[]>();
  trace.slice(1).forEach(({ nodeId }, index) => {
    const key = `${trace[index]?.nodeId} ${nodeId}`;
    way.set(key, [...(way.get(key) ?? []), index + 1]);
  });
  return way;
}

function styles(
  definition: WorkflowDefinition,
  { trace }: DrawnRun,
  nameOf: (id: string) => string,
  taken: number[],
): string[] {
  if (trace.length === 0) return [];
  const known = trace.filter(({ nodeId }) => Object.hasOwn(definition.nodes, nodeId));
  const namesOf = (steps: DrawnRun['trace']) => [...new Set(steps.map(({ nodeId }) => nameOf(nodeId)))].join(',');
  const bad = known.filter(({ error }) => error !== null && error !== undefined);
  return [
    '  classDef taken fill:#d5f5e3,stroke:#1e8449,stroke-width:3px,color:#145a32',
    '  classDef failed fill:#fadbd8,stroke:#b03a2e,stroke-width:3px,color:#78281f',
    ...(known.length > 0 ? [`  class ${namesOf(known)} taken`] : []),
    ...(bad.length > 0 ? [`  class ${namesOf(bad)} failed`] : []),
    ...(taken.length > 0 ? [`  linkStyle ${taken.join(',')} stroke:#1e8449,stroke-width:3px`] : []),
  ];
}

/** Escapes a label. Within quotes Mermaid reads HTML entities, and `#` begins an entity. */
function escaped(text: string): string {
  const line = text.replaceAll(/\s+/gu, ' ');
  const short = line.length > maxLabelLength ? `${line.slice(0, maxLabelLength)}…` : line;
  return short
    .toWellFormed()
    .replaceAll(/[^\p{L}\p{N} _.,:;!?()=+*/…'^$[\]{}&|-]/gu, (sign) => `#${sign.codePointAt(0)};`);
}

import type { Json, JsonObject, WorkflowDefinition } from './definition.ts';
import type { WorkflowState } from './state.ts';

/** The names that templates and expressions can access; nothing else is reachable. */
export interface Scope {
  message: string;
  variables: JsonObject;
  session: JsonObject;
  identity: JsonObject | null;
  nodes: Record<string, { output: Json; error: Json }>;
}

/** A path that a template or expression reads. Undefined stands for a segment that is known only at run time. */
export type NameRead = (string | undefined)[];

const names = ['message', 'variables', 'session', 'identity', 'nodes'];
const sessionFields = ['id', 'clientExternalId', 'metadata', 'startedAt'];
const nodeFields = ['output', 'error'];

/** Returns the scope of a node. It contains all variables and nodes of the definition; those without a value are null. */
export function scopeOf(definition: WorkflowDefinition, state: WorkflowState): Scope {
  const nodes = Object.keys(definition.nodes).map((id) => {
    const { output = null, error = null } = (Object.hasOwn(state.nodes, id) && state.nodes[id]) || {};
    return [id, { output, error: error && { ...error } }] as const;
  });
  const { id, clientExternalId, metadata, startedAt } = state.session;
  return {
    message: state.message,
    variables: { ...Object.fromEntries(outputsOf(definition).map((name) => [name, null])), ...state.variables },
    session: { id, clientExternalId, metadata, startedAt },
    identity: state.identity,
    nodes: Object.fromEntries(nodes),
  };
}

/** Returns a function that checks a name. The function returns the problem if the name does not exist in the definition. */
export function nameChecker(definition: WorkflowDefinition): (read: NameRead) => string | undefined {
  const variables = new Set([...Object.keys(definition.variables ?? {}), ...outputsOf(definition)]);
  const nodes = new Set(Object.keys(definition.nodes));

  return ([root, name, field]) => {
    if (root === undefined || !names.includes(root))
      return `reads ${quoted(root)}, which is none of ${names.join(', ')}`;
    if (name === undefined) return undefined;
    if (root === 'variables' && !variables.has(name)) {
      return `reads the variable ${quoted(name)}, which is neither in variables nor an output`;
    }
    if (root === 'nodes' && !nodes.has(name)) return `reads the node ${quoted(name)}, which is not there`;
    if (root === 'nodes' && field !== undefined && !nodeFields.includes(field)) {
      return `reads ${quoted(field)} of a node, which has ${nodeFields.join(' and ')} only`;
    }
    if (root === 'session' && !sessionFields.includes(name)) {
      return `reads ${quoted(name)} of the session, which has ${sessionFields.join(', ')} only`;
    }
    return undefined;
  };
}

function outputsOf(definition: WorkflowDefinition): string[] {
  return Object.values(definition.nodes).flatMap((node) => ('output' in node ? [node.output] : []));
}

const maxQuoted = 64;

function quoted(name: string | undefined): string {
  return JSON.stringify((name ?? '').slice(0, maxQuoted).toWellFormed());
}

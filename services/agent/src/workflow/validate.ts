import { measureJson } from '@parley/json-schema/json-size';
import { withinProcessorTime } from '@parley/json-schema/within-processor-time';
import { isJsonObject } from '@parley/kernel/json';
import { checkGraph } from './check-graph.ts';
import { checkNames } from './check-names.ts';
import { checkShape, compileShape } from './check-shape.ts';
import { definitionLimits, type WorkflowDefinition, type WorkflowIssue } from './definition.ts';
import { references, type WorkflowReferences } from './references.ts';

/**
 * A safety limit in addition to the limits of definitions, which already bound the time. Checking the largest definition takes about 15 ms,
 * or up to 45 ms if it is the process's first check or if the machine is busy.
 */
const maxMs = 100;

/**
 * Returns the problems of a definition, at most 100: those that its JSON Schema finds or, if there are none, those of
 * its graph, templates and expressions. An empty list means that the definition can be run, provided that its
 * `references` exist. Takes bounded time for any input.
 */
export function validate(definition: unknown): WorkflowIssue[] {
  return inspect(definition).issues;
}

export interface Inspection {
  issues: WorkflowIssue[];
  /** The resources that the definition names; undefined if the definition does not match its JSON Schema, or was not checked to the end. */
  references?: WorkflowReferences;
}

/** Returns the result of `validate`, together with the references of the definition. */
export function inspect(definition: unknown): Inspection {
  const tooLarge = sizeIssue(definition);
  if (tooLarge) return { issues: [tooLarge] };
  warmUp();
  const found = withinProcessorTime(maxMs, () => inspectSized(definition));
  if (!found) return { issues: [{ path: '', message: 'takes too long to check' }] };
  return { ...found, issues: boundedIssues(found.issues) };
}

let isWarm = false;

/**
 * Compiles the schema and a small definition once at the start, so that this time does not count for the first definition that is checked.
 */
function warmUp(): void {
  if (isWarm) return;
  isWarm = true;
  compileShape();
  inspectSized(smallDefinition);
}

const smallDefinition: WorkflowDefinition = {
  version: 1,
  start: 'ask',
  nodes: {
    ask: { kind: 'llm', prompt: '{{ message | upcase }}', output: 'answer', next: 'check', onError: 'say' },
    check: {
      kind: 'condition',
      cases: [{ when: 'size(variables.answer) > 1 && message != "a"', next: 'call' }],
      otherwise: 'say',
    },
    call: { kind: 'action', actionId: 1, args: { a: ['{{ variables.answer }}'] }, output: 'found', next: 'say' },
    say: { kind: 'response', text: '{% if message %}{{ variables.answer | default: "-" }}{% endif %}' },
  },
};

/** Returns the first `maxIssues` problems. Names and paths that come from the definition are shortened. */
export function boundedIssues(issues: readonly WorkflowIssue[]): WorkflowIssue[] {
  return issues
    .slice(0, definitionLimits.maxIssues)
    .map(({ path, message }) => ({ path: boundedText(path), message: boundedText(message) }));
}

function boundedText(text: string): string {
  const { maxIssueText } = definitionLimits;
  return text.length > maxIssueText ? `${text.slice(0, maxIssueText - 1)}…`.toWellFormed() : text;
}

/** Reports whether `validate` finds no problem. */
export function isValid(definition: unknown): definition is WorkflowDefinition {
  return validate(definition).length === 0;
}

function inspectSized(definition: unknown): Inspection {
  const issues = checkShape(definition);
  if (issues.length > 0) return { issues };
  const sound = definition as WorkflowDefinition;
  return { issues: [...checkGraph(sound), ...checkNames(sound)], references: references(sound) };
}

function sizeIssue(definition: unknown): WorkflowIssue | undefined {
  const nodes = isJsonObject(definition) ? definition['nodes'] : undefined;
  if (isJsonObject(nodes)) {
    const { maxNodes } = definitionLimits;
    if (Object.keys(nodes).length > maxNodes) return { path: 'nodes', message: `must have at most ${maxNodes} nodes` };
  }
  const { problem } = measureJson(definition, definitionLimits);
  return problem === undefined ? undefined : { path: '', message: problem };
}

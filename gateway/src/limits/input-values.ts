import type { FieldProblem } from '@parley/chassis/errors';
import { whyUnstorable } from '@parley/chassis/input-checks';
import { type ASTNode, BREAK, type DocumentNode, Kind, visit } from 'graphql';

/** How deep lists and objects in variables may stand in each other: what writes JSON on the way recurses. */
const maxLevels = 64;

/** At most so many problems are told at once. */
const maxProblems = 20;

/** What no operation takes in its variables: strings that cannot be stored, keys included, and endless nesting. */
export function refusedVariables(variables: Readonly<Record<string, unknown>> | null | undefined): FieldProblem[] {
  if (!variables || acceptable(variables, maxLevels + 1)) return [];
  const problems: FieldProblem[] = [];
  collect(variables, '', maxLevels + 1, problems);
  return problems;
}

/** The same of the strings that are written in a document, told by argument. */
export function refusedLiterals(document: DocumentNode): FieldProblem[] {
  const problems: FieldProblem[] = [];
  visit(document, {
    StringValue({ value }, _key, parent, _path, ancestors) {
      const message = whyUnstorable(value);
      if (message) problems.push({ path: argumentPath(parent ? [...ancestors, parent] : ancestors), message });
      return problems.length < maxProblems ? undefined : BREAK;
    },
  });
  return problems;
}

/** The quick look at what is nearly always right: no paths, no copies. */
function acceptable(value: unknown, levels: number): boolean {
  if (typeof value === 'string') return !value.includes('\0') && value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  if (levels === 0) return false;
  if (Array.isArray(value)) return value.every((element) => acceptable(element, levels - 1));
  for (const key of Object.keys(value)) {
    if (!acceptable(key, 0) || !acceptable((value as Record<string, unknown>)[key], levels - 1)) return false;
  }
  return true;
}

function collect(value: unknown, path: string, levels: number, problems: FieldProblem[]): void {
  if (problems.length >= maxProblems) return;
  if (typeof value !== 'object' || value === null) {
    const message = whyUnstorable(value);
    if (message) problems.push({ path, message });
    return;
  }
  if (levels === 0) {
    problems.push({ path, message: `is nested more than ${maxLevels} levels deep` });
    return;
  }
  for (const [key, element] of Object.entries(value)) {
    const message = whyUnstorable(key);
    if (message) problems.push({ path, message: `has a key that ${message}` });
    else collect(element, path ? `${path}.${key}` : key, levels - 1, problems);
  }
}

function argumentPath(ancestors: readonly (ASTNode | readonly ASTNode[])[]): string {
  const names: string[] = [];
  for (const node of ancestors) {
    if (!('kind' in node)) continue;
    if (node.kind === Kind.ARGUMENT || node.kind === Kind.OBJECT_FIELD) names.push(node.name.value);
    if (node.kind === Kind.VARIABLE_DEFINITION) names.push(node.variable.name.value);
  }
  return names.join('.');
}

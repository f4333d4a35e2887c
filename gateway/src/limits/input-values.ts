import { type DomainError, type FieldProblem, invalid } from '@parley/kernel/errors';
import { storageProblem } from '@parley/kernel/input-checks';
import {
  type ASTNode,
  BREAK,
  type DocumentNode,
  type FloatValueNode,
  type IntValueNode,
  Kind,
  type StringValueNode,
  visit,
} from 'graphql';

type Ancestors = readonly (ASTNode | readonly ASTNode[])[];
type VisitedParent = Ancestors[number] | undefined;

/** JSON serialization recurses, so nesting is bounded. */
const maxLevels = 64;

/** Query planning doubles its cost with each nested list literal, but does not read variables. */
const maxLiteralLists = 5;
const maxLiteralLevels = 16;

export interface RefusedValue extends FieldProblem {
  /** Set if the value cannot be valid for any field. The request is then malformed. */
  malformed?: true;
}

const maxProblems = 20;

/**
 * Finds variables with strings that cannot be stored, numbers that are not finite, or too deep nesting. Reports each variable under the
 * path of the argument that uses it.
 */
export function refusedVariables(
  document: DocumentNode,
  variables: Readonly<Record<string, unknown>> | null | undefined,
): RefusedValue[] {
  if (!variables || acceptable(variables, maxLevels + 1)) return [];
  const problems: RefusedValue[] = [];
  const paths = argumentPaths(document);
  for (const [name, value] of Object.entries(variables)) {
    collect({ [paths.get(name) ?? name]: value }, '', maxLevels + 1, problems);
  }
  return problems;
}

/** Like `refusedVariables`, but for literals in a document. Must run before query planning. */
export function refusedLiterals(document: DocumentNode): RefusedValue[] {
  const problems: RefusedValue[] = [];
  let lists = 0;
  let levels = 0;

  function refuse(value: Omit<RefusedValue, 'path'>, parent: VisitedParent, ancestors: Ancestors): void {
    problems.push({ path: argumentPath(parent ? [...ancestors, parent] : ancestors), ...value });
  }

  function check(
    { kind, value }: StringValueNode | IntValueNode | FloatValueNode,
    _key: unknown,
    parent: VisitedParent,
    _path: unknown,
    ancestors: Ancestors,
  ) {
    const refused = whyRefused(kind === Kind.STRING ? value : Number(value));
    if (refused) refuse(refused, parent, ancestors);
    return problems.length < maxProblems ? undefined : BREAK;
  }

  const nesting = (list: 0 | 1) => ({
    enter(_node: ASTNode, _key: unknown, parent: VisitedParent, _path: unknown, ancestors: Ancestors) {
      if (lists + list > maxLiteralLists || levels === maxLiteralLevels) {
        const message = 'is nested too deeply to stand in a document: send it as a variable';
        refuse({ message, malformed: true }, parent, ancestors);
        return problems.length < maxProblems ? false : BREAK; // the visitor does not call `leave` for this node
      }
      lists += list;
      levels += 1;
      return undefined;
    },
    leave() {
      lists -= list;
      levels -= 1;
    },
  });

  visit(document, {
    StringValue: check,
    IntValue: check,
    FloatValue: check,
    ListValue: nesting(1),
    ObjectValue: nesting(0),
  });
  return problems;
}

export function refusedInput(values: RefusedValue[]): DomainError {
  return invalid(...values.map(({ path, message }) => ({ path, message })));
}

function whyRefused(value: unknown): Omit<RefusedValue, 'path'> | undefined {
  const message = storageProblem(value);
  return message === undefined ? undefined : { message, ...(typeof value === 'number' && { malformed: true }) };
}

function acceptable(value: unknown, levels: number): boolean {
  if (typeof value === 'string') return !value.includes('\0') && value.isWellFormed();
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  if (levels === 0) return false;
  if (Array.isArray(value)) return value.every((element) => acceptable(element, levels - 1));
  for (const key of Object.keys(value)) {
    if (!acceptable(key, 0) || !acceptable((value as Record<string, unknown>)[key], levels - 1)) return false;
  }
  return true;
}

function collect(value: unknown, path: string, levels: number, problems: RefusedValue[]): void {
  if (problems.length >= maxProblems) return;
  if (typeof value !== 'object' || value === null) {
    const refused = whyRefused(value);
    if (refused) problems.push({ path, ...refused });
    return;
  }
  if (levels === 0) {
    problems.push({ path, message: `is nested more than ${maxLevels} levels deep`, malformed: true });
    return;
  }
  for (const [key, element] of Object.entries(value)) {
    const message = storageProblem(key);
    if (message) problems.push({ path, message: `has a key that ${message}` });
    else collect(element, path ? `${path}.${key}` : key, levels - 1, problems);
  }
}

/** Maps each variable to the path of its first use. */
function argumentPaths(document: DocumentNode): Map<string, string> {
  const paths = new Map<string, string>();
  visit(document, {
    VariableDefinition: { enter: () => false },
    Variable({ name: { value: name } }, _key, parent, _path, ancestors) {
      if (!paths.has(name)) paths.set(name, argumentPath(parent ? [...ancestors, parent] : ancestors));
    },
  });
  return paths;
}

function argumentPath(ancestors: Ancestors): string {
  const names: string[] = [];
  for (const node of ancestors) {
    if (!('kind' in node)) continue;
    if (node.kind === Kind.ARGUMENT || node.kind === Kind.OBJECT_FIELD) names.push(node.name.value);
    if (node.kind === Kind.VARIABLE_DEFINITION) names.push(node.variable.name.value);
  }
  return names.join('.');
}

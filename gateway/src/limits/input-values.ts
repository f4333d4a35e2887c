import { type DomainError, type FieldProblem, invalid } from '@parley/chassis/errors';
import { whyUnstorable } from '@parley/chassis/input-checks';
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

/** How deep lists and objects in variables may stand in each other: what writes JSON on the way recurses. */
const maxLevels = 64;

/**
 * The same for literals in a document. Query planning reads each list twice on every level of it, so that what it costs
 * doubles with each list inside a list; what is nested deeper goes in a variable, which planning never looks into.
 */
const maxLiteralLists = 5;
const maxLiteralLevels = 16;

/** A value that no operation takes, by its place. */
export interface RefusedValue extends FieldProblem {
  /** No field could mean it, whatever it stores: nesting without end, a number that is none. The request is malformed by it. */
  malformed?: true;
}

/** At most so many problems are told at once. */
const maxProblems = 20;

/**
 * What no operation takes in its variables: strings that cannot be stored, keys included, numbers too large to be one, and
 * endless nesting.
 */
export function refusedVariables(variables: Readonly<Record<string, unknown>> | null | undefined): RefusedValue[] {
  if (!variables || acceptable(variables, maxLevels + 1)) return [];
  const problems: RefusedValue[] = [];
  collect(variables, '', maxLevels + 1, problems);
  return problems;
}

/** The same of the literals that are written in a document, told by argument. Must have been asked before it is planned. */
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
        return problems.length < maxProblems ? false : BREAK; // and so is not left
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

/** What a client is told of such values. */
export function refusedInput(values: RefusedValue[]): DomainError {
  return invalid(...values.map(({ path, message }) => ({ path, message })));
}

function whyRefused(value: unknown): Omit<RefusedValue, 'path'> | undefined {
  const message = whyUnstorable(value);
  return message === undefined ? undefined : { message, ...(typeof value === 'number' && { malformed: true }) };
}

/** The quick look at what is nearly always right: no paths, no copies. */
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
    const message = whyUnstorable(key);
    if (message) problems.push({ path, message: `has a key that ${message}` });
    else collect(element, path ? `${path}.${key}` : key, levels - 1, problems);
  }
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

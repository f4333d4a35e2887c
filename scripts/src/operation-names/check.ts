import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from '@swc/core';

/** The names that the check looks for. */
export interface OperationNames {
  /** Root fields by type and field: `Mutation.login`. */
  operations: Iterable<string>;
  /** Operations whose name also means something else, e.g. the unit `agent`. For these only `Query.agent` counts. */
  alsoOther: Iterable<string>;
}

/**
 * Finds source files with special cases for an operation: comparisons with its name, lookups, lists. Such rules belong on the
 * field in the schema. Documents, resolvers (keys of an object) and property reads of a response do not count.
 * A comment `names <operation>: <why>` in the file allows that operation there.
 * @returns one line for each file and name.
 */
export function checkOperationNames(
  root: string,
  files: string[],
  { operations, alsoOther }: OperationNames,
): string[] {
  const other = new Set(alsoOther);
  const full = new Set(operations);
  const bare = new Set([...full].map((name) => name.slice(name.indexOf('.') + 1)).filter((name) => !other.has(name)));
  const mention = new RegExp(`\\b(${[...bare, ...full].map((name) => name.replace('.', '\\.')).join('|')})\\b`, 'u');

  return files.flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    if (!mention.test(text)) return []; // most files, which are not parsed
    const found = new Map<string, string>();
    const find = (node: unknown, how: string, isPlace: boolean) => {
      const value = textOf(node);
      if (value === undefined) return;
      const words = value.split(/[\s,]+/u).filter(Boolean);
      const isList = words.length > 1 && words.every((word) => bare.has(word) || full.has(word) || other.has(word));
      for (const word of isList ? words : [value]) {
        const isUse = full.has(word) || (bare.has(word) && (isPlace || isList));
        if (isUse && !found.has(word)) found.set(word, isList ? 'in a list' : how);
      }
    };
    visit(parseSync(text, { syntax: 'typescript' }), find);
    return [...found]
      .filter(([name]) => !new RegExp(`//.*\\bnames \`?${name}\`?: \\S`, 'u').test(text))
      .map(([name, how]) => `${file}: '${name}' ${how}; let the schema say what the operation needs`);
  });
}

interface Node {
  type: string;
  [key: string]: unknown;
}

type Find = (node: unknown, how: string, isPlace: boolean) => void;

const lookups = new Set(['add', 'delete', 'get', 'has', 'includes', 'indexOf', 'set', 'startsWith']);

function visit(node: unknown, find: Find): void {
  if (Array.isArray(node)) for (const each of node) visit(each, find);
  if (!isNode(node)) return;
  const { type } = node;
  if (type === 'BinaryExpression' && /^[!=]==?$/u.test(String(node.operator))) {
    for (const side of [node.left, node.right]) find(side, 'in a comparison', true);
  } else if (type === 'SwitchCase') find(node.test, 'in a comparison', true);
  else if (type === 'ArrayExpression') for (const each of expressions(node.elements)) find(each, 'in a list', true);
  else if (type === 'CallExpression' && lookups.has(methodOf(node.callee))) {
    for (const each of expressions(node.arguments)) find(each, 'in a lookup', true);
  } else find(node, 'as a key of rules', false);
  for (const [key, value] of Object.entries(node)) if (key !== 'span') visit(value, find);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const wrappers = new Set(['ParenthesisExpression', 'TsAsExpression', 'TsConstAssertion']);

/** The value of a string literal; undefined for other nodes. */
function textOf(node: unknown): string | undefined {
  if (!isNode(node)) return undefined;
  if (node.type === 'StringLiteral') return String(node.value);
  if (wrappers.has(node.type)) return textOf(node.expression);
  if (node.type !== 'TemplateLiteral') return undefined;
  const [quasi, ...others] = node.quasis as { cooked?: string }[];
  return others.length === 0 ? quasi?.cooked : undefined;
}

/** The elements of an array literal or arguments of a call. */
function expressions(list: unknown): unknown[] {
  return (list as ({ expression: unknown } | null)[]).map((each) => each?.expression);
}

function methodOf(callee: unknown): string {
  const property = isNode(callee) && callee.type === 'MemberExpression' ? callee.property : undefined;
  return isNode(property) && property.type === 'Identifier' ? String(property.value) : '';
}

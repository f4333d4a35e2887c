import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from '@swc/core';

/** The names that the check looks for. */
export interface OperationNames {
  /** Root fields by type and field, such as `Mutation.login`, with the service that serves the field; undefined if no service does. */
  operations: ReadonlyMap<string, string | undefined>;
  /** The names of all services. If an operation has the name of a service, the check finds it only with its type, such as `Query.agent`. */
  services: readonly string[];
}

/**
 * Finds source files with special cases for an operation, because such rules belong on the field in the schema. Finds the name of an
 * operation in three forms:
 * - as a whole string;
 * - in a string or anchored regular expression that consists only of names;
 * - as a key of an object in a variable, if all keys of the object are names.
 *
 * The path of an argument may follow the name. Not found are:
 * - names in documents, named functions (resolvers), tables and types;
 * - names that are read from a response or expected in one, such as error paths;
 * - in a service's folder, names of other services' operations without their type, because the service does not know these operations;
 * - names of an operation that a comment `allow-name <operation>: <why>` in the file allows.
 *
 * @returns one line for each file and name, with the lines that have it.
 */
export function checkOperationNames(root: string, files: string[], { operations, services }: OperationNames) {
  const other = new Set(services);
  const mention = new RegExp(`\\b(${[...operations.keys()].map(bareName).join('|')})\\b`, 'u');

  return files.flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    if (!mention.test(text)) return []; // skips most files without parsing them
    const bare = new Set([...operations.keys()].filter(isKnownTo(file)).map(bareName));
    const found = new Map<string, Set<number>>();
    visit(parseSync(text, { syntax: 'typescript' }), (words, at, onlyFull) => {
      if (!words.every((word) => bare.has(word) || operations.has(word) || other.has(word))) return;
      for (const word of words) {
        if (operations.has(word) || (bare.has(word) && !onlyFull))
          found.set(word, (found.get(word) ?? new Set()).add(lineAt(text, at)));
      }
    });
    return [...found]
      .filter(([name]) => !new RegExp(`//.*\\ballow-name \`?${name}\`?: \\S`, 'u').test(text))
      .map(([name, lines]) => messageOf(file, name, lines));
  });

  /** Returns a function that reports whether the name of an operation, without its type, can mean the operation in this file. */
  function isKnownTo(file: string) {
    const [folder, service = ''] = file.split('/');
    const isOfService = folder === 'services' && other.has(service);
    return (name: string): boolean =>
      !other.has(bareName(name)) && (!isOfService || [service, undefined].includes(operations.get(name)));
  }
}

function bareName(operation: string): string {
  return operation.slice(operation.indexOf('.') + 1);
}

function messageOf(file: string, name: string, lines: Set<number>): string {
  const sorted = [...lines].toSorted((one, other) => one - other);
  const allLines = sorted.length > 1 ? ` (lines ${sorted.join(', ')})` : '';
  const remedy = `let the schema say what the operation needs; where it means something else, add // allow-name ${name}: <what>`;
  return `${file}:${sorted[0]} names '${name}'${allLines}; ${remedy}`;
}

/** Matches the argument's path in `login input.email`. */
const argumentPath = / \w+(\.\w+)+$/u;

/** A node of the syntax tree, or a list of them. */
interface Node {
  /** The kind of node. Missing for a list, and for a wrapper of a node, such as an argument. */
  type?: string;
  [key: string]: unknown;
}

/**
 * Called with the words that a node of the syntax tree contains.
 * @param at the position of the words in the file, in bytes counted from 1
 * @param onlyFull if true, an operation counts only if it is named with its type: `Query.room`
 */
type Find = (words: string[], at: number, onlyFull?: boolean) => void;

function visit(node: unknown, find: Find, onlyFull = false): void {
  if (!isNode(node) || isPathOfError(node)) return;
  find(
    (textOf(node) ?? '')
      .replace(argumentPath, '')
      .split(/[\s,;|]+/u)
      .filter(Boolean),
    startOf(node),
    onlyFull,
  );
  if (node.type === 'RegExpLiteral' && /[$^|]/u.test(String(node.pattern)))
    find(String(node.pattern).replaceAll(/\\./gu, ' ').match(/\w+/gu) ?? [], startOf(node));
  if (node.type === 'VariableDeclarator') visitKeys(node.init, find);
  for (const [key, value] of Object.entries(node)) visit(value, find, node.type ? isOther(node, key) : onlyFull);
}

/** Reports whether strings at this place have another meaning than an operation: they are keys, property reads, types or tables. */
function isOther({ type, callee }: Node, key: string): boolean {
  const isTable = type === 'CallExpression' && key === 'arguments' && ['knex', 'table'].includes(calledName(callee));
  return key === 'key' || type === 'Computed' || type === 'TsLiteralType' || isTable;
}

/** Reports whether a node is the `path` of an error in a response, such as `{ path: ['login'] }`. */
function isPathOfError({ type, key, value }: Node): boolean {
  return (
    type === 'KeyValueProperty' &&
    isNode(key) &&
    key.value === 'path' &&
    isNode(value) &&
    value.type === 'ArrayExpression'
  );
}

/** Visits the keys of the objects in a variable, including nested objects. */
function visitKeys(node: unknown, find: Find): void {
  if (!isNode(node)) return;
  if (node.type === 'ObjectExpression') {
    const properties = node.properties as Node[];
    if (!properties.every(isFunction))
      find(
        properties.map((each) => String(isNode(each.key) ? each.key.value : each.value).replace(argumentPath, '')),
        startOf(node),
      );
    for (const { key, value } of properties)
      if (!isNode(key) || !rootTypes.has(String(key.value))) visitKeys(value, find);
  } else if (!node.type || wrappers.has(node.type)) for (const each of Object.values(node)) visitKeys(each, find);
}

/** Returns the start of a node; 0 for nodes without a position, such as arguments. */
function startOf({ span }: Node): number {
  return (span as { start: number } | undefined)?.start ?? 0;
}

function lineAt(text: string, at: number): number {
  return Buffer.from(text).subarray(0, at).toString().split('\n').length;
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null;
}

const rootTypes = new Set(['Query', 'Mutation', 'Subscription']);
const wrappers = new Set([
  'ArrayExpression',
  'ParenthesisExpression',
  'TsAsExpression',
  'TsConstAssertion',
  'TsSatisfiesExpression',
]);

function isFunction({ type, value }: Node): boolean {
  return type === 'MethodProperty' || (isNode(value) && /^(Arrow)?FunctionExpression$/u.test(String(value.type)));
}

/** Returns the value of a string literal; undefined for other nodes. */
function textOf(node: Node): string | undefined {
  if (node.type === 'StringLiteral') return String(node.value);
  if (node.type !== 'TemplateLiteral') return undefined;
  const [quasi, ...others] = node.quasis as { cooked?: string }[];
  return others.length === 0 ? quasi?.cooked : undefined;
}

/** Returns the last name of a call's callee: `knex` in `db.knex(…)`. */
function calledName(callee: unknown): string {
  if (!isNode(callee)) return '';
  return callee.type === 'MemberExpression' ? calledName(callee.property) : String(callee.value);
}

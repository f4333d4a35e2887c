import { parseSync } from '@swc/core';
import type { Span } from './comments.ts';

/** A variable, parameter, property, function, method, import, class or type that a file declares. */
export interface DeclaredName {
  name: string;
  /** The position in the file, in bytes counted from 0. */
  at: number;
  /** The value's class, if the declared type or the expression that creates the value shows it. */
  type?: 'AbortController' | 'AbortSignal' | undefined;
}

/** Returns the names that TypeScript or JavaScript code declares, and the ranges of its literals in bytes. */
export function parseNames(source: string): { names: DeclaredName[]; literals: Span[] } {
  const names: DeclaredName[] = [];
  const literals: Span[] = [];
  visit(parseSync(source, { syntax: 'typescript', decorators: true }));
  return { names, literals };

  function visit(node: unknown): void {
    if (typeof node !== 'object' || node === null) return;
    if (!isNode(node)) {
      for (const each of Object.values(node)) visit(each);
      return;
    }
    if (literalTypes.has(node.type)) literals.push(spanOf(node));
    const { [declaringKeys[node.type] ?? '']: declared } = node;
    for (const each of Array.isArray(declared) ? declared : [declared]) bind(each, node);
    if (node.type === 'KeyValueProperty' && isNamed(node['key'], 'signal')) bindSignal(node['value']);
    for (const each of Object.values(node)) visit(each);
  }

  /** Adds a name that is bound to a property `signal`: by a pattern, or as the value of this property in an object. */
  function bindSignal(value: unknown): void {
    if (isNamed(value)) names.push({ name: String(value['value']), at: spanOf(value).start, type: 'AbortSignal' });
  }

  /** Adds the names of a pattern, or of a property's key. */
  function bind(pattern: unknown, owner?: Node): void {
    if (!isNode(pattern)) return;
    if (pattern.type === 'Identifier' || pattern.type === 'PrivateName') {
      const annotation = pattern['typeAnnotation'] ?? owner?.['typeAnnotation'];
      const type = annotation ? abortTypeOf(annotation) : createdTypeOf(owner?.['init'] ?? owner?.['value']);
      names.push({ name: String(pattern['value']), at: spanOf(pattern).start, type });
    } else if (pattern.type === 'AssignmentPattern') bind(pattern['left'], pattern);
    else if (pattern.type === 'RestElement') bind(pattern['argument'], pattern);
    else if (pattern.type === 'ArrayPattern') for (const each of pattern['elements'] as unknown[]) bind(each);
    else if (pattern.type === 'ObjectPattern') {
      for (const each of pattern['properties'] as Node[]) {
        if (each.type !== 'KeyValuePatternProperty') bind(each['key']);
        else if (isNamed(each['key'], 'signal')) bindSignal(each['value']);
        else bind(each['value']);
      }
    }
  }
}

interface Node {
  type: string;
  [key: string]: unknown;
}

const abortTypes = ['AbortController', 'AbortSignal'] as const;
const literalTypes = new Set(['StringLiteral', 'TemplateElement', 'RegExpLiteral']);

/** The key of the declared names in a node, by the node's type. */
const declaringKeys: Record<string, string> = {
  ArrowFunctionExpression: 'params',
  CatchClause: 'param',
  ClassDeclaration: 'identifier',
  ClassExpression: 'identifier',
  ClassMethod: 'key',
  ClassProperty: 'key',
  FunctionDeclaration: 'identifier',
  FunctionExpression: 'identifier',
  ImportSpecifier: 'local',
  KeyValueProperty: 'key',
  Parameter: 'pat',
  PrivateMethod: 'key',
  PrivateProperty: 'key',
  TsEnumDeclaration: 'id',
  TsEnumMember: 'id',
  TsFunctionType: 'params',
  TsGetterSignature: 'key',
  TsInterfaceDeclaration: 'id',
  TsMethodSignature: 'params',
  TsParameterProperty: 'param',
  TsPropertySignature: 'key',
  TsTypeAliasDeclaration: 'id',
  VariableDeclarator: 'id',
};

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value;
}

/** Returns the range of a node, counted from 0. The parser counts bytes from 1. */
function spanOf({ span }: Node): Span {
  const { start, end } = span as Span;
  return { start: start - 1, end: end - 1 };
}

/**
 * Returns `AbortController` or `AbortSignal` if a type is one of them, alone or in a union such as `AbortSignal | undefined`; otherwise
 * undefined.
 */
function abortTypeOf(type: unknown): DeclaredName['type'] {
  if (!isNode(type)) return undefined;
  if (type.type === 'TsTypeAnnotation') return abortTypeOf(type['typeAnnotation']);
  if (type.type === 'TsUnionType') return (type['types'] as unknown[]).map(abortTypeOf).find(Boolean);
  if (type.type !== 'TsTypeReference') return undefined;
  return abortTypes.find((name) => isNamed(type['typeName'], name));
}

/**
 * Returns `AbortController` or `AbortSignal` if an expression creates one of them: `new AbortController()`, `AbortSignal.any(…)`,
 * `x.signal` or a cast. Otherwise undefined.
 */
function createdTypeOf(expression: unknown): DeclaredName['type'] {
  if (!isNode(expression)) return undefined;
  const { type, property, callee } = expression;
  if (type === 'TsAsExpression') return abortTypeOf(expression['typeAnnotation']);
  if (type === 'NewExpression' && isNamed(callee, 'AbortController')) return 'AbortController';
  const isSignal =
    (type === 'MemberExpression' && isNamed(property, 'signal')) ||
    (type === 'CallExpression' && isNode(callee) && isNamed(callee['object'], 'AbortSignal'));
  return isSignal ? 'AbortSignal' : undefined;
}

/** @param name the required name; default: any name */
function isNamed(node: unknown, name?: string): node is Node {
  return isNode(node) && node.type === 'Identifier' && (name === undefined || node['value'] === name);
}

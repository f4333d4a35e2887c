import { parseSync } from '@swc/core';
import type { Span } from './comments.ts';

/** A variable, parameter, property, function or import that a file declares. */
export interface DeclaredName {
  name: string;
  /** The position in the file, in bytes counted from 0. */
  at: number;
  /** Whether the value is an `AbortSignal`, according to its type or to the call that creates it. */
  isSignal: boolean;
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
    for (const each of Object.values(node)) visit(each);
  }

  /** Adds the names of a pattern, or of a property's key. */
  function bind(pattern: unknown, owner?: Node): void {
    if (!isNode(pattern)) return;
    if (pattern.type === 'Identifier') {
      const type = pattern['typeAnnotation'] ?? owner?.['typeAnnotation'];
      const isSignal = isSignalType(type) || (!type && makesSignal(owner?.['init']));
      names.push({ name: String(pattern['value']), at: spanOf(pattern).start, isSignal });
    } else if (pattern.type === 'AssignmentPattern') bind(pattern['left'], pattern);
    else if (pattern.type === 'RestElement') bind(pattern['argument'], pattern);
    else if (pattern.type === 'ArrayPattern') for (const each of pattern['elements'] as unknown[]) bind(each);
    else if (pattern.type === 'ObjectPattern') {
      for (const each of pattern['properties'] as Node[])
        bind(each.type === 'KeyValuePatternProperty' ? each['value'] : each['key']);
    }
  }
}

interface Node {
  type: string;
  [key: string]: unknown;
}

const literalTypes = new Set(['StringLiteral', 'TemplateElement', 'RegExpLiteral']);

/** The key of the declared names in a node, by the node's type. */
const declaringKeys: Record<string, string> = {
  ArrowFunctionExpression: 'params',
  CatchClause: 'param',
  ClassProperty: 'key',
  FunctionDeclaration: 'identifier',
  ImportSpecifier: 'local',
  KeyValueProperty: 'key',
  Parameter: 'pat',
  TsFunctionType: 'params',
  TsMethodSignature: 'params',
  TsParameterProperty: 'param',
  TsPropertySignature: 'key',
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

/** Reports whether a type is `AbortSignal`, alone or in a union such as `AbortSignal | undefined`. */
function isSignalType(type: unknown): boolean {
  if (!isNode(type)) return false;
  if (type.type === 'TsTypeAnnotation') return isSignalType(type['typeAnnotation']);
  if (type.type === 'TsUnionType') return (type['types'] as unknown[]).some(isSignalType);
  return type.type === 'TsTypeReference' && isNamed(type['typeName'], 'AbortSignal');
}

/** Reports whether an expression is a call such as `AbortSignal.any(…)`. */
function makesSignal(expression: unknown): boolean {
  if (!isNode(expression) || expression.type !== 'CallExpression' || !isNode(expression['callee'])) return false;
  return isNamed(expression['callee']['object'], 'AbortSignal');
}

function isNamed(node: unknown, name: string): boolean {
  return isNode(node) && node.type === 'Identifier' && node['value'] === name;
}

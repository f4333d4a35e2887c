import { type CelFunc, CelScalar, celEnv, celFunc, celMethod, isCelError, listType, parse, plan } from '@bufbuild/cel';
import { strings } from '@bufbuild/cel/ext';
import { patternsOf } from '@parley/json-schema/linear-regexp';
import { LRUCache } from 'lru-cache';
import type { Json } from './definition.ts';
import type { NameRead, Scope } from './scope.ts';

export interface Expression {
  /** Evaluates the expression; the result is true or false. @throws Error with the reason why the expression has no result */
  isTrue(scope: Scope): boolean;
  reads: NameRead[];
}

type Expr = NonNullable<ReturnType<typeof parse>['expr']>;

/** Thrown for an expression that does not compile. The message completes the sentence "<path> …". */
export class ExpressionError extends Error {}

const maxTextLength = 100_000;
const maxListLength = 10_000;
const maxReasonLength = 200;
/** Maximum nesting of brackets, because the parser backtracks at each bracket that is not closed. */
const maxDepth = 200;

const { BOOL, BYTES, DOUBLE, INT, STRING } = CelScalar;
const LIST = listType(CelScalar.DYN);

/** Type names, which are values in CEL. */
const typeNames = new Set(['bool', 'bytes', 'double', 'int', 'list', 'map', 'null_type', 'string', 'type', 'uint']);

/** Text functions that cannot return a text longer than their input. */
const textFunctions = new Set(['charAt', 'indexOf', 'lastIndexOf', 'lowerAscii', 'substring', 'trim', 'upperAscii']);

const env = celEnv({
  funcs: [
    ...strings.filter(({ name }) => textFunctions.has(name)),
    ...mixedArithmetic(),
    celFunc('_+_', [STRING, STRING], STRING, (left, right) => within(maxTextLength, left, right) && left + right),
    celFunc('_+_', [BYTES, BYTES], BYTES, (left, right) => {
      within(maxTextLength, left, right);
      return new Uint8Array([...left, ...right]);
    }),
    // Copies the lists. Views of them would be nested one level deeper with each `+`, and would be slower to read.
    celFunc('_+_', [LIST, LIST], LIST, (left, right) => {
      within(maxListLength, { length: left.size }, { length: right.size });
      return [...left, ...right];
    }),
    celMethod('matches', STRING, [STRING], BOOL, function (pattern) {
      return patternsOf({ isLenient: false }).of(pattern).test(this);
    }),
  ],
});

const kept = new LRUCache<string, Expression>({ max: 2_000 });

/**
 * Compiles a CEL expression. JSON numbers are doubles, as in CEL; arithmetic of a double and an int gives a double. The expression does not
 * limit the time of its evaluation: the caller must limit it, as the engine does.
 * @throws ExpressionError if the text does not compile
 */
export function compileExpression(text: string): Expression {
  const known = kept.get(text);
  if (known) return known;
  const made = compile(text);
  kept.set(text, made);
  return made;
}

function compile(text: string): Expression {
  if (depthOf(text) > maxDepth) throw new ExpressionError('is not a CEL expression: it is nested too deeply');
  try {
    const { expr } = parse(text);
    if (!expr) throw new ExpressionError('is not a CEL expression');
    const reads: NameRead[] = [];
    walk(expr, new Set(), reads);
    const evaluate = plan(env, expr);
    return { reads, isTrue: (scope) => truthOf(evaluate(celScope(scope))) };
  } catch (error) {
    if (error instanceof ExpressionError) throw error;
    throw new ExpressionError(
      `is not a CEL expression${error instanceof RangeError ? ': it is nested too deeply' : placeOf(error)}`,
    );
  }
}

/** Returns the maximum nesting of brackets. Brackets in string literals count, too. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const sign of text) {
    if ('([{'.includes(sign)) depth += 1;
    else if (')]}'.includes(sign)) depth -= 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

function truthOf(value: unknown): boolean {
  if (isCelError(value)) throw new Error(reasonOf(value.message));
  if (typeof value !== 'boolean') throw new Error('is neither true nor false');
  return value;
}

/**
 * Converts a scope to Maps. CEL determines an object's type by `constructor`, which may be a key in data; a Map is read
 * by its keys only.
 */
function celScope(scope: Scope): Record<string, CelData> {
  const known = celScopes.get(scope);
  if (known) return known;
  const made = Object.fromEntries(Object.entries(scope).map(([name, value]) => [name, celValue(value as Json)]));
  celScopes.set(scope, made);
  return made;
}

/** Caches converted scopes, so that all cases of a node use the same converted scope. */
const celScopes = new WeakMap<Scope, Record<string, CelData>>();

type CelData = string | number | boolean | null | CelData[] | Map<string, CelData>;

function celValue(value: Json): CelData {
  if (Array.isArray(value)) return value.map(celValue);
  if (typeof value !== 'object' || value === null) return value;
  return new Map(Object.entries(value).map(([key, each]) => [key, celValue(each)]));
}

function mixedArithmetic(): CelFunc[] {
  const operators = {
    '_+_': (left: number, right: number) => left + right,
    '_-_': (left: number, right: number) => left - right,
    '_*_': (left: number, right: number) => left * right,
    '_/_': (left: number, right: number) => left / right,
  };
  return Object.entries(operators).flatMap(([name, calculate]) => [
    celFunc(name, [INT, DOUBLE], DOUBLE, (left, right) => calculate(Number(left), right)),
    celFunc(name, [DOUBLE, INT], DOUBLE, (left, right) => calculate(left, Number(right))),
  ]);
}

function within(max: number, left: { length: number }, right: { length: number }): true {
  if (left.length + right.length > max) throw new Error(`makes something longer than ${max}`);
  return true;
}

/** Collects the names that an expression reads, and refuses unknown functions. */
function walk(expr: Expr | undefined, local: ReadonlySet<string>, reads: NameRead[]): void {
  const read = nameRead(expr);
  const kind = expr?.exprKind;
  if (read) {
    const [root = ''] = read;
    if (!local.has(root) && !typeNames.has(root)) reads.push(read);
  }
  switch (kind?.case) {
    case 'selectExpr':
      return read ? undefined : walk(kind.value.operand, local, reads);
    case 'callExpr': {
      const { function: name, target, args } = kind.value;
      if (!operatorNames.has(name) && !env.funcs.find(name))
        throw new ExpressionError(`calls ${reasonOf(name)}, which is not there`);
      checkPattern(name, args);
      if (!read) walk(target, local, reads);
      for (const arg of read ? args.slice(1) : args) walk(arg, local, reads);
      return;
    }
    case 'listExpr':
      for (const element of kind.value.elements) walk(element, local, reads);
      return;
    case 'structExpr':
      if (kind.value.messageName !== '') throw new ExpressionError('makes a message, which is not supported');
      for (const { keyKind, value } of kind.value.entries) {
        if (keyKind.case === 'mapKey') walk(keyKind.value, local, reads);
        walk(value, local, reads);
      }
      return;
    case 'comprehensionExpr': {
      const { iterRange, accuInit, iterVar, iterVar2, accuVar, loopCondition, loopStep, result } = kind.value;
      walk(iterRange, local, reads);
      walk(accuInit, local, reads);
      const inside = new Set([...local, iterVar, iterVar2, accuVar]);
      for (const part of [loopCondition, loopStep, result]) walk(part, inside, reads);
      return;
    }
    default:
  }
}

/** Operators that the environment does not list as functions. */
const operatorNames = new Set(['_&&_', '_||_', '_?_:_', '_[_]', '@not_strictly_false']);

/** Returns the literal segments of a path such as `a.b["c"]`; undefined if the expression does not begin with a name. */
function nameRead(expr: Expr | undefined): NameRead | undefined {
  const kind = expr?.exprKind;
  if (kind?.case === 'identExpr') return [kind.value.name];
  if (kind?.case === 'selectExpr') {
    const operand = nameRead(kind.value.operand);
    return operand && [...operand, kind.value.field];
  }
  if (kind?.case === 'callExpr' && kind.value.function === '_[_]') {
    const [of, index] = kind.value.args;
    const operand = nameRead(of);
    const constant = index?.exprKind.case === 'constExpr' ? index.exprKind.value.constantKind : undefined;
    return operand && [...operand, constant?.case === 'stringValue' ? constant.value : undefined];
  }
  return undefined;
}

function checkPattern(name: string, [pattern]: Expr[]): void {
  if (name !== 'matches' || pattern?.exprKind.case !== 'constExpr') return;
  const { constantKind } = pattern.exprKind.value;
  if (constantKind.case !== 'stringValue') return;
  try {
    patternsOf({ isLenient: false }).of(constantKind.value);
  } catch {
    throw new ExpressionError('has a pattern that is not valid, or has more than linear cost');
  }
}

/** Extracts the place of the error from the parser's message, e.g. from `<input>:1:3: found + but expecting …`. */
function placeOf(error: unknown): string {
  const [, line, column] = /^<input>:(\d+):(\d+):/u.exec(error instanceof Error ? error.message : '') ?? [];
  return line === undefined ? '' : `: line ${line}, column ${column}`;
}

function reasonOf(message: string): string {
  return (message.length > maxReasonLength ? `${message.slice(0, maxReasonLength)}…` : message).toWellFormed();
}

import { type FieldProblem, invalid } from './errors.ts';

export interface TextLimits {
  /** Unicode code points at most. */
  max: number;
  /** Unicode code points at least. Default: anything that is not blank. */
  min?: number;
}

/** Collects what is wrong with an input, so that all of it is told at once. */
export interface InputChecks {
  /** Text that must be there and not blank, and must be storable. Tells whether it is right. */
  text(path: string, value: unknown, limits: TextLimits): value is string;
  /** The same for text that may be left out or null. */
  optionalText(path: string, value: unknown, limits: TextLimits): void;
  /** Storable, whatever else it is: for secrets and identifiers that are compared, not kept. */
  storable(path: string, value: unknown): void;
  /** Notes one problem; `message` completes the sentence "<path> …". */
  refuse(path: string, message: string): void;
  /** @throws DomainError `invalid` naming every problem noted so far. */
  finish(): void;
}

export function inputChecks(): InputChecks {
  const problems: FieldProblem[] = [];
  const refuse = (path: string, message: string) => void problems.push({ path, message });

  function text(path: string, value: unknown, { max, min = 1 }: TextLimits): value is string {
    const before = problems.length;
    if (typeof value !== 'string') refuse(path, 'must be text');
    else if (whyUnstorable(value)) refuse(path, whyUnstorable(value) ?? '');
    else if (value.trim() === '') refuse(path, 'must not be blank');
    else if (codePoints(value) < min) refuse(path, `must have at least ${min} characters`);
    else if (codePoints(value) > max) refuse(path, `must have at most ${max} characters`);
    return problems.length === before;
  }

  return {
    text,
    refuse,
    optionalText(path, value, limits) {
      if (value !== undefined && value !== null) text(path, value, limits);
    },
    storable(path, value) {
      const why = whyUnstorable(value);
      if (why) refuse(path, why);
    },
    finish() {
      if (problems.length > 0) throw invalid(...problems);
    },
  };
}

/** Lengths are counted in Unicode code points everywhere. */
export function codePoints(text: string): number {
  let count = text.length;
  for (let at = 0; at < text.length - 1; at += 1) {
    if (!isHighSurrogate(text.charCodeAt(at)) || !isLowSurrogate(text.charCodeAt(at + 1))) continue;
    count -= 1;
    at += 1;
  }
  return count;
}

/** The first half of a character of two UTF-16 units. */
export function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

export interface Page {
  /** How many at most. */
  first?: number | null | undefined;
  /** The id to go on from; 0 comes before all. */
  after?: number | null | undefined;
}

/** The page asked for, null being as if it were left out. @throws DomainError `invalid`: `first` below 1, `after` below 0. */
export function checkPage({ first, after }: Page): { first: number | undefined; after: number | undefined } {
  const checks = inputChecks();
  if (first != null && first < 1) checks.refuse('first', 'must be at least 1');
  if (after != null && after < 0) checks.refuse('after', 'must not be negative');
  checks.finish();
  return { first: first ?? undefined, after: after ?? undefined };
}

/** Why a value, with every string and number inside it, cannot be stored; undefined when it can. */
export function whyUnstorable(value: unknown): string | undefined {
  const left = [value];
  while (left.length > 0) {
    const next = left.pop();
    if (typeof next === 'string') {
      if (next.includes('\0')) return 'must not hold the character NUL';
      if (!next.isWellFormed()) return 'must not hold half of a surrogate pair';
    } else if (typeof next === 'number') {
      // JSON knows no such numbers, and would hold null in their place.
      if (!Number.isFinite(next)) return 'must not hold a number that is not finite';
    } else if (Array.isArray(next)) {
      for (const element of next) left.push(element);
    } else if (typeof next === 'object' && next !== null) {
      for (const [key, element] of Object.entries(next)) left.push(key, element);
    }
  }
  return undefined;
}

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

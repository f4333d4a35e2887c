/** The length of a text as all limits count it, in Unicode code points. */
export function codePoints(text: string): number {
  let count = text.length;
  for (let at = 0; at < text.length; at += 1) {
    if ((text.codePointAt(at) ?? 0) <= 0xffff) continue;
    count -= 1;
    at += 1;
  }
  return count;
}

export function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

/** Why a JSON value cannot be stored in PostgreSQL; undefined when it can. Completes "<path> …". */
export function storageProblem(value: unknown): string | undefined {
  const pending = [value];
  while (pending.length > 0) {
    const next = pending.pop();
    if (typeof next === 'string') {
      if (next.includes('\0')) return 'must not hold the character NUL';
      if (!next.isWellFormed()) return 'must not hold half of a surrogate pair';
    } else if (typeof next === 'number') {
      // JSON.stringify would write null.
      if (!Number.isFinite(next)) return 'must not hold a number that is not finite';
    } else if (Array.isArray(next)) {
      for (const element of next) pending.push(element);
    } else if (typeof next === 'object' && next !== null) {
      for (const [key, element] of Object.entries(next)) pending.push(key, element);
    }
  }
  return undefined;
}

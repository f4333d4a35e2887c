/** Returns the length of a text in Unicode code points, the unit of all limits. */
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

/** Characters that take space but show nothing: blank Braille, layout marks, the Khitan filler, the null notehead. */
const shapeless =
  /^[\s\p{Cc}\p{Default_Ignorable_Code_Point}\u2800\ufff9-\ufffc\u{13430}-\u{13440}\u{16fe4}\u{1d159}]*$/u;

/** Reports whether a text has no visible characters. */
export function isShapeless(text: string): boolean {
  return shapeless.test(text);
}

/** Returns why a JSON value cannot be stored in PostgreSQL; undefined if it can be stored. The reason completes the sentence "<path> …". */
export function storageProblem(value: unknown): string | undefined {
  const pending = [value];
  while (pending.length > 0) {
    const next = pending.pop();
    if (typeof next === 'string') {
      if (next.includes('\0')) return 'must not hold the character NUL';
      if (!next.isWellFormed()) return 'must not hold half of a surrogate pair';
    } else if (typeof next === 'number') {
      // JSON.stringify would write null for a number that is not finite.
      if (!Number.isFinite(next)) return 'must not hold a number that is not finite';
    } else if (Array.isArray(next)) {
      for (const element of next) pending.push(element);
    } else if (typeof next === 'object' && next !== null) {
      for (const [key, element] of Object.entries(next)) pending.push(key, element);
    }
  }
  return undefined;
}

export interface JsonLimits {
  maxBytes: number;
  maxDepth: number;
  /** Maximum number of values, including nested values. */
  maxValues: number;
}

export interface JsonSize {
  values: number;
  /** The exceeded limit; undefined if no limit is exceeded. The text completes the sentence "<path> …". */
  problem: string | undefined;
}

/** Measures a JSON value without recursion, so that deep nesting cannot overflow the stack. Stops at the first exceeded limit. */
export function measureJson(value: unknown, { maxBytes, maxDepth, maxValues }: JsonLimits): JsonSize {
  const pending: { value: unknown; depth: number }[] = [{ value, depth: 0 }];
  let bytes = 0;
  let values = 0;
  const exceeds = (problem: string): JsonSize => ({ values, problem });

  for (let next = pending.pop(); next; next = pending.pop()) {
    values += 1;
    bytes += bytesOf(next.value);
    if (values > maxValues) return exceeds(`must have at most ${maxValues} values`);
    if (bytes > maxBytes) return exceeds(`must have at most ${maxBytes} bytes as JSON`);
    if (typeof next.value !== 'object' || next.value === null) continue;
    if (next.depth >= maxDepth) return exceeds(`must not be nested deeper than ${maxDepth} levels`);
    const depth = next.depth + 1;
    const keys = Array.isArray(next.value) ? undefined : Object.keys(next.value);
    const elements = keys?.length ?? (next.value as unknown[]).length;
    // The number of values is checked before the entries are listed, because listing takes time.
    if (values + pending.length + elements > maxValues) return exceeds(`must have at most ${maxValues} values`);
    for (const key of keys ?? []) {
      bytes += Buffer.byteLength(key) + 3;
      pending.push({ value: (next.value as Record<string, unknown>)[key], depth });
    }
    if (!keys) for (const element of next.value as unknown[]) pending.push({ value: element, depth });
  }
  return { values, problem: undefined };
}

/** Returns the approximate size of the value as JSON, without the backslashes of escaped characters. */
function bytesOf(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value) + 3;
  if (typeof value === 'object' && value !== null) return 3;
  return String(value).length + 1;
}

/** The value below which the share `q` (0 to 1) of all lies, by nearest rank. @throws RangeError for no values. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)];
  if (value === undefined) throw new RangeError('A quantile of no values');
  return value;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

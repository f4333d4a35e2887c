/** One measured figure beside its goal. */
export interface Figure {
  name: string;
  value: number;
  /** `×`: how many times another figure of the same run. */
  unit: 'ms' | 's' | 'MB' | 'KB' | '×' | '/s';
  /** Where it should stay below; none where it is only told. */
  goal?: number;
  /** Where it should stay above. */
  atLeast?: number;
}

export function figure(
  name: string,
  value: number,
  unit: Figure['unit'],
  bound: Pick<Figure, 'goal' | 'atLeast'> = {},
): Figure {
  return { name, value, unit, ...bound };
}

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

/** The median of one number of each round. */
export function medianOf<Round>(rounds: readonly Round[], pick: (round: Round) => number): number {
  return median(rounds.map(pick));
}

/** Does something so many times, each when the one before it is through. */
export async function oneByOne<T>(count: number, measure: (index: number) => Promise<T>): Promise<T[]> {
  const values: T[] = [];
  for (let index = 0; index < count; index += 1) values.push(await measure(index));
  return values;
}

export function atOnce<T>(count: number, measure: (index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => measure(index)));
}

/** The figures as a table for people. */
export function table(figures: readonly Figure[]): string {
  const rows = [['', 'measured', 'goal', 'within'], ...figures.map(rowOf)];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map(([name = '', ...rest]) =>
    [name.padEnd(widths[0] ?? 0), ...rest.map((cell, index) => cell.padStart(widths[index + 1] ?? 0))].join('  '),
  );
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`;
}

function rowOf({ name, value, unit, goal, atLeast }: Figure): string[] {
  const shown = `${value.toFixed(decimalsOf(value, unit))} ${unit}`;
  if (goal !== undefined) return [name, shown, `${goal} ${unit}`, value <= goal ? 'yes' : 'NO'];
  if (atLeast !== undefined) return [name, shown, `≥ ${atLeast} ${unit}`, value >= atLeast ? 'yes' : 'NO'];
  return [name, shown];
}

function decimalsOf(value: number, unit: Figure['unit']): number {
  if (unit === 'MB' || unit === 'KB' || unit === '/s') return 0;
  if (unit === '×') return 2;
  return unit === 'ms' && value < 1 ? 3 : 1;
}

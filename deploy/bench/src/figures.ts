/** The units of figures, each with its number of decimals. `×` is a ratio to another figure of the same run. */
const decimals = { ms: 1, s: 1, MB: 0, KB: 0, '×': 2, '/s': 0, '/min': 0, '/turn': 1, 'in all': 1 };
export type Unit = keyof typeof decimals;

/** `goal`: the upper bound of a figure; `atLeast`: its lower bound. A figure without either is only reported. */
type Bound = { goal?: number; atLeast?: number };

/** A measured figure with its goal. */
export type Figure = { name: string; value: number; unit: Unit } & Bound;

export function figure(name: string, value: number, unit: Unit, bound: Bound = {}): Figure {
  return { name, value, unit, ...bound };
}

/** Returns the quantile `q` (0 to 1) by nearest rank. @throws RangeError for no values */
export function quantile(values: readonly number[], q: number): number {
  const value = values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(q * values.length) - 1)];
  if (value === undefined) throw new RangeError('A quantile of no values');
  return value;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Returns the median of one number over all rounds. */
export function medianOf<Round>(rounds: readonly Round[], pick: (round: Round) => number): number {
  return median(rounds.map(pick));
}

/** Runs `measure` `count` times, one after the other. */
export async function oneByOne<T>(count: number, measure: (index: number) => Promise<T>): Promise<T[]> {
  const values: T[] = [];
  for (let index = 0; index < count; index += 1) values.push(await measure(index));
  return values;
}

/** Returns the duration of `work`, in ms. */
export async function tookMs(work: () => Promise<unknown>): Promise<number> {
  const before = performance.now();
  await work();
  return performance.now() - before;
}

export function atOnce<T>(count: number, measure: (index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => measure(index)));
}

/** Formats the figures as a table. */
export function table(figures: readonly Figure[]): string {
  const rows = [['', 'measured', 'goal', 'within'], ...figures.map(rowOf)];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const pad = (cell: string, column: number) => cell[column === 0 ? 'padEnd' : 'padStart'](widths[column] ?? 0);
  return rows.map((row) => `${row.map(pad).join('  ')}\n`).join('');
}

function rowOf({ name, value, unit, goal, atLeast }: Figure): string[] {
  const shown = `${value.toFixed(unit === 'ms' && value < 1 ? 3 : decimals[unit])} ${unit}`;
  if (goal !== undefined) return [name, shown, `${goal} ${unit}`, value <= goal ? 'yes' : 'NO'];
  if (atLeast !== undefined) return [name, shown, `≥ ${atLeast} ${unit}`, value >= atLeast ? 'yes' : 'NO'];
  return [name, shown];
}

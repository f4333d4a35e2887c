import { type Figure, isWithin } from './figure.ts';

/** The figures as a table for people. */
export function table(figures: readonly Figure[]): string {
  const rows = [['', 'measured', 'goal', 'within'], ...figures.map(rowOf)];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map(([name = '', ...rest]) =>
    [name.padEnd(widths[0] ?? 0), ...rest.map((cell, index) => cell.padStart(widths[index + 1] ?? 0))].join('  '),
  );
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`;
}

function rowOf(figure: Figure): string[] {
  const { name, value, unit, goal, atLeast } = figure;
  const within = isWithin(figure);
  const bound = goal === undefined ? atLeast !== undefined && `≥ ${atLeast} ${unit}` : `${goal} ${unit}`;
  const told = within === undefined ? '' : within ? 'yes' : 'NO';
  return [name, `${value.toFixed(decimalsOf(figure))} ${unit}`, bound || '', told];
}

function decimalsOf({ value, unit }: Figure): number {
  if (unit === 'MB' || unit === 'KB' || unit === '/s') return 0;
  if (unit === '×') return 2;
  return unit === 'ms' && value < 1 ? 3 : 1;
}

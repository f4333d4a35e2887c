import type { Level, Outcome } from './outcome.ts';

const headings: Record<string, string> = {
  settings: 'Settings',
  certificates: 'Certificates',
  postgres: 'PostgreSQL',
  redis: 'Redis',
  kafka: 'Kafka',
  s3: 'S3',
  mail: 'Mail',
  addresses: 'Other addresses',
};

const marks: Record<Level, string> = { ok: 'ok', warning: 'WARNING', wrong: 'WRONG' };
const worstFirst: Level[] = ['wrong', 'warning', 'ok'];
const width = Math.max(...Object.values(marks).map(({ length }) => length));

/**
 * Formats the outcomes for people. They are grouped by engine, with the most severe first in each group. The last line is the number of
 * outcomes at each level.
 */
export function report(outcomes: Outcome[]): string {
  const groups = Map.groupBy(outcomes, ({ check }) => check.slice(0, check.indexOf('.')));
  const parts = [...groups].map(([group, each]) => {
    const sorted = each.toSorted((a, b) => worstFirst.indexOf(a.level) - worstFirst.indexOf(b.level));
    return `${headings[group] ?? group}\n${sorted.map(lines).join('')}`;
  });
  const count = (level: Level) => outcomes.filter((each) => each.level === level).length;
  return `${parts.join('\n')}\n${count('wrong')} wrong, ${count('warning')} to look at, ${count('ok')} in order\n`;
}

function lines({ level, check, settings, found, change }: Outcome): string {
  const looked = settings.length > 0 ? ` [${settings.join(', ')}]` : '';
  if (level === 'ok') return `  ${marks.ok.padEnd(width)}  ${found}\n`;
  return `  ${marks[level].padEnd(width)}  ${check}: ${found}${looked}\n  ${' '.repeat(width)}  -> ${change}\n`;
}

/** Returns 0 if there is no problem, otherwise 1. */
export function exitCode(outcomes: Outcome[]): number {
  return outcomes.some(({ level }) => level === 'wrong') ? 1 : 0;
}

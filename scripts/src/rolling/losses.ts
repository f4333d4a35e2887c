import type { Catalogue, Column, Relation, Rule } from './catalogue.ts';

/**
 * Returns the changes of the catalogue that break reads or writes of the previous version, one sentence each. Additions, and rules that
 * allow more, break nothing.
 */
export function losses(before: Catalogue, after: Catalogue): string[] {
  return [
    ...before.relations.flatMap((old) => {
      const now = after.relations.find(({ oid }) => oid === old.oid);
      if (!now) return [`table ${old.name} is dropped`];
      const renamed = now.name === old.name ? [] : [`table ${old.name} is renamed to ${now.name}`];
      return [...renamed, ...columnLosses(old, now), ...ruleLosses(old, now)];
    }),
    ...missing(before.others, after.others).map((each) => `${each} is dropped or changed`),
  ];
}

function columnLosses(old: Relation, now: Relation): string[] {
  const found: string[] = [];
  for (const { number, name, type, notNull, filled } of old.columns) {
    const column = `column ${old.name}.${name}`;
    const present = now.columns.find((each) => each.number === number);
    if (!present) {
      found.push(`${column} is dropped`);
      continue;
    }
    if (present.name !== name) found.push(`${column} is renamed to ${present.name}`);
    if (!isReadAlike(type, present.type)) found.push(`${column} changes from ${type} to ${present.type}`);
    if (present.notNull && !notNull) found.push(`${column} becomes NOT NULL`);
    if (present.notNull && filled && !present.filled) found.push(`${column} is NOT NULL and loses its default`);
  }
  for (const { name } of newColumns(old, now).filter(({ notNull, filled }) => notNull && !filled)) {
    found.push(`column ${old.name}.${name} is new, NOT NULL and without a default`);
  }
  return found;
}

function ruleLosses(old: Relation, now: Relation): string[] {
  const isSame = (one: Rule) => (other: Rule) => one.kind === other.kind && one.definition === other.definition;
  const gone = old.rules.filter((rule) => !now.rules.some(isSame(rule)));
  const come = now.rules.filter((rule) => !old.rules.some(isSame(rule)));
  const added = newColumns(old, now);
  const strict = come.filter((rule) => !isFree(rule, added) && !gone.some((each) => isWidened(each, rule)));
  // A dropped unique index is a loss, because ON CONFLICT fails without it. A dropped check only allows more rows. So does a dropped
  // foreign key, if it never deleted or changed rows.
  const missed = gone.filter(({ kind, acts }) => kind === 'unique' || acts);
  return [
    ...missed.map(({ kind, name }) => `${kind} ${name} of ${old.name} is dropped or changed`),
    ...strict.map(({ kind, name }) => `${kind} ${name} of ${old.name} is new, and may refuse what is written today`),
  ];
}

function newColumns(old: Relation, now: Relation): Column[] {
  return now.columns.filter(({ number }) => !old.columns.some((column) => column.number === number));
}

/** Reports whether rows without values for the new columns always satisfy the rule. */
function isFree({ kind, columns }: Rule, added: Column[]): boolean {
  const isNew = (number: number) => added.some((column) => column.number === number);
  const staysNull = (number: number) =>
    added.some((column) => column.number === number && !column.notNull && !column.filled);
  if (kind === 'check') return columns.length > 0 && columns.every(isNew);
  return kind !== 'exclusion' && columns.some(staysNull);
}

/** Reports whether a check `column IN (…)` now allows more values. */
function isWidened(old: Rule, now: Rule): boolean {
  const list = /= ANY \(+ARRAY\[([^\]]*)\]/u;
  const values = ({ definition }: Rule) => list.exec(definition)?.[1]?.split(', ');
  const rest = ({ definition }: Rule) => definition.replace(list, '');
  const [allowed, wanted] = [values(now), values(old)];
  if (old.kind !== 'check' || now.kind !== 'check' || !allowed || !wanted) return false;
  return rest(old) === rest(now) && missing(wanted, allowed).length === 0;
}

/** Reports whether clients read the new type in the same way: a longer varchar, text, or more digits before the decimal point. */
function isReadAlike(old: string, now: string): boolean {
  if (old === now) return true;
  const sized = /^(character varying|numeric)\((\d+)(?:,(\d+))?\)$/u;
  const [, type, size, scale] = sized.exec(old) ?? [];
  if (type === 'character varying' && (now === 'text' || now === type)) return true;
  const [, nowType, nowSize, nowScale] = sized.exec(now) ?? [];
  return type !== undefined && type === nowType && scale === nowScale && Number(nowSize) >= Number(size);
}

function missing(before: string[], after: string[]): string[] {
  return before.filter((each) => !after.includes(each));
}

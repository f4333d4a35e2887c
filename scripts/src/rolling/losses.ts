import type { Catalogue, Column, Relation, Rule } from './catalogue.ts';

/**
 * What the version before, which knows the catalogue as it was, could no longer read or write: one sentence each. What
 * only adds to it, or allows more, is none.
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
  const kept = old.columns.flatMap((column) => {
    const name = `column ${old.name}.${column.name}`;
    const present = now.columns.find(({ number }) => number === column.number);
    if (!present) return [`${name} is dropped`];
    return [
      ...(present.name === column.name ? [] : [`${name} is renamed to ${present.name}`]),
      ...(isReadAlike(column.type, present.type) ? [] : [`${name} changes from ${column.type} to ${present.type}`]),
      ...(present.notNull && !column.notNull ? [`${name} becomes NOT NULL`] : []),
      ...(present.notNull && column.filled && !present.filled ? [`${name} is NOT NULL and loses its default`] : []),
    ];
  });
  const added = newColumns(old, now)
    .filter(({ notNull, filled }) => notNull && !filled)
    .map(({ name }) => `column ${old.name}.${name} is new, NOT NULL and without a default`);
  return [...kept, ...added];
}

function ruleLosses(old: Relation, now: Relation): string[] {
  const has = ({ rules }: Relation, { kind, definition }: Rule) =>
    rules.some((rule) => rule.kind === kind && rule.definition === definition);
  const gone = old.rules.filter((rule) => !has(now, rule));
  const come = now.rules.filter((rule) => !has(old, rule));
  return [
    // Whoever says ON CONFLICT fails without the unique index that it names; a check or reference that goes allows more.
    ...gone
      .filter(({ kind, acts }) => kind === 'unique' || acts)
      .map(({ kind, name }) => `${kind} ${name} of ${old.name} is dropped or changed`),
    ...come
      .filter((rule) => !isFree(rule, newColumns(old, now)) && !gone.some((each) => isWidened(each, rule)))
      .map(({ kind, name }) => `${kind} ${name} of ${old.name} is new, and may refuse what is written today`),
  ];
}

function newColumns(old: Relation, now: Relation): Column[] {
  return now.columns.filter(({ number }) => !old.columns.some((column) => column.number === number));
}

/** Whether rows that say nothing about the new columns always keep to it. */
function isFree({ kind, columns }: Rule, added: Column[]): boolean {
  const isNew = (number: number) => added.some((column) => column.number === number);
  const staysNull = (number: number) =>
    added.some((column) => column.number === number && !column.notNull && !column.filled);
  if (kind === 'check') return columns.length > 0 && columns.every(isNew);
  return kind !== 'exclusion' && columns.some(staysNull);
}

/** A check `column IN (…)` that came to allow more. */
function isWidened(old: Rule, now: Rule): boolean {
  const list = /= ANY \(+ARRAY\[([^\]]*)\]/u;
  const values = ({ definition }: Rule) => list.exec(definition)?.[1]?.split(', ');
  const rest = ({ definition }: Rule) => definition.replace(list, '');
  const [allowed, wanted] = [values(now), values(old)];
  if (old.kind !== 'check' || now.kind !== 'check' || !allowed || !wanted) return false;
  return rest(old) === rest(now) && missing(wanted, allowed).length === 0;
}

/** The same to clients, with room for all that fitted before: a longer varchar, text, more digits before the point. */
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

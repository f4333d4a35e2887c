import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SchemaDeclaration } from '@parley/postgres/database/types';
import { previousState } from '../history.ts';
import { root } from '../root.ts';

/** One migration and its observed effects. */
export interface Step {
  /** The name, e.g. `session/001-conversations`. Names of migrations that are part of every schema begin with `chassis/`. */
  name: string;
  contracts: string | undefined;
  /** The hash of the migration's statements, without comments and formatting. */
  hash: string;
  /** Incompatibilities with the previous version, one sentence each. */
  losses: string[];
}

/** The merged migrations by name, in order, with the hash of their statements. */
export type MergedMigrations = Record<string, string>;

const path = 'scripts/src/rolling/migrations.json';

/** Reads the committed list of merged migrations. */
export function readMerged(): MergedMigrations {
  return JSON.parse(readFileSync(join(root, path), 'utf8'));
}

export function writeMerged(merged: MergedMigrations): void {
  writeFileSync(join(root, path), `${JSON.stringify(merged, undefined, 2)}\n`);
}

/**
 * Returns the list of merged migrations before its last change; undefined if there is no history or no earlier list.
 * @throws Error if `mustCompare` and the history is unavailable.
 */
export function earlierMerged(mustCompare = false): MergedMigrations | undefined {
  const { commit } = previousState(root, path, mustCompare);
  return commit && JSON.parse(execFileSync('git', ['show', `${commit}:${path}`], { cwd: root, encoding: 'utf8' }));
}

/** Returns the declared migrations that are not in the list of merged migrations. Compares only names, so it needs no database. */
export function unlisted(schemas: Pick<SchemaDeclaration, 'name' | 'migrations'>[], merged: MergedMigrations) {
  const names = schemas.flatMap(({ name: owner, migrations }) => migrations.map(({ name }) => listedName(owner, name)));
  return names.filter((name) => merged[name] === undefined);
}

/**
 * Returns a migration's name in the list of merged migrations, e.g. `session/001-conversations`. Names of the chassis's migrations already
 * contain a prefix.
 */
export function listedName(owner: string, migration: string): string {
  return migration.startsWith('chassis/') ? migration : `${owner}/${migration}`;
}

/** Returns violations of the rules for rolling updates: merged migrations are never edited, and new ones only expand the schema. */
export function problemsOf(seen: Step[], merged: MergedMigrations): string[] {
  // Migrations of the chassis are applied to every schema.
  const steps = [...new Map(seen.map((step) => [step.name, step])).values()];
  return [...steps.flatMap((step) => stepProblems(step, merged)), ...orderProblems(steps, merged)];
}

/** Adds new migrations to the list of merged migrations. Existing entries do not change. */
export function withNew(steps: Step[], merged: MergedMigrations): MergedMigrations {
  const all = { ...Object.fromEntries(steps.map(({ name, hash }) => [name, hash])), ...merged };
  return Object.fromEntries(Object.entries(all).toSorted(([a], [b]) => ownerOf(a).localeCompare(ownerOf(b))));
}

/** Returns a problem for each entry of the earlier list that the current list lacks or has changed. */
export function forgotten(earlier: MergedMigrations, merged: MergedMigrations): string[] {
  const changed = Object.keys(earlier).filter((name) => merged[name] !== earlier[name]);
  return changed.map((name) => `${name} has another entry in the list than on main: it was merged, and stays as it is`);
}

function stepProblems({ name, hash, contracts, losses }: Step, merged: MergedMigrations): string[] {
  const listed = merged[name];
  const problems: string[] = [];
  if (listed === undefined) problems.push(`${name} is not in the list of migrations: run scripts/migrate --list`);
  else if (listed !== hash) problems.push(`${name} was merged and has been edited: add another instead`);
  if (losses.length === 0 && contracts !== undefined)
    problems.push(`${name} says what it contracts, and takes nothing away`);
  if (contracts?.trim()) return problems;
  const why = 'the version before still needs it, unless contracts says since when not';
  return [...problems, ...losses.map((loss) => `${name}: ${loss}; ${why}`)];
}

/**
 * Returns a problem for each service whose migrations do not begin with its merged ones, in their merged order. A database that has all
 * merged migrations applies new ones after them, whatever their names.
 */
function orderProblems(steps: Step[], merged: MergedMigrations): string[] {
  const names = steps.map(({ name }) => name);
  return [...Map.groupBy(Object.keys(merged), ownerOf)].flatMap(([owner, listed]) => {
    const own = names.filter((name) => ownerOf(name) === owner);
    const isKept = listed.every((name, n) => own[n] === name);
    return isKept ? [] : [`${owner} has its merged migrations first, all and in this order: ${listed.join(', ')}`];
  });
}

function ownerOf(name: string): string {
  return name.split('/')[0] ?? name;
}

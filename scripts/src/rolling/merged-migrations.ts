import type { Step } from './observe-migrations.ts';

/** The migrations that have been merged, in their order, each with the hash of its statements. */
export type MergedMigrations = Record<string, string>;

/** Every way in which migrations break the rule of rolling changes: never edited once merged, and expanding first. */
export function problemsOf(steps: Step[], merged: MergedMigrations): string[] {
  return [...stepsOf(steps).flatMap((step) => stepProblems(step, merged)), ...orderProblems(stepsOf(steps), merged)];
}

/** The list with what is new in it. What has been merged is kept as it is. */
export function withNew(steps: Step[], merged: MergedMigrations): MergedMigrations {
  const all = { ...Object.fromEntries(stepsOf(steps).map(({ name, hash }) => [name, hash])), ...merged };
  const sorted = Object.keys(all).toSorted((a, b) => ownerOf(a).localeCompare(ownerOf(b)));
  return Object.fromEntries(sorted.flatMap((name) => (all[name] === undefined ? [] : [[name, all[name]]])));
}

/** Entries of an earlier list that a later one has lost or changed. */
export function forgotten(earlier: MergedMigrations, merged: MergedMigrations): string[] {
  return Object.keys(earlier)
    .filter((name) => merged[name] !== earlier[name])
    .map((name) => `${name} has another entry in the list than on main: it was merged, and stays as it is`);
}

function stepProblems({ name, hash, contracts, losses }: Step, merged: MergedMigrations): string[] {
  const listed = merged[name];
  const takes = losses.length > 0;
  return [
    ...(listed === undefined ? [`${name} is not in the list of migrations: run scripts/migrate --list`] : []),
    ...(listed !== undefined && listed !== hash ? [`${name} was merged and has been edited: add another instead`] : []),
    ...(takes && !contracts?.trim()
      ? losses.map(
          (loss) => `${name}: ${loss}; the version before still needs it, unless contracts says since when not`,
        )
      : []),
    ...(!takes && contracts !== undefined ? [`${name} says what it contracts, and takes nothing away`] : []),
  ];
}

/** Databases that have applied the listed ones apply a new one after them, wherever it stands. */
function orderProblems(steps: Step[], merged: MergedMigrations): string[] {
  const names = steps.map(({ name }) => name);
  const gone = Object.keys(merged).filter((name) => !names.includes(name));
  const early = names.filter(
    (name, place) =>
      !Object.hasOwn(merged, name) &&
      names.slice(place).some((later) => ownerOf(later) === ownerOf(name) && Object.hasOwn(merged, later)),
  );
  const listed = Object.keys(merged).filter((name) => names.includes(name));
  const moved = [...new Set(listed.map(ownerOf))].filter((owner) => {
    const own = (each: string) => ownerOf(each) === owner && Object.hasOwn(merged, each);
    return names.filter(own).join() !== listed.filter(own).join();
  });
  return [
    ...gone.map((name) => `${name} was merged and is gone`),
    ...early.map((name) => `${name} stands before migrations that were merged: add it at the end`),
    ...moved.map((owner) => `the merged migrations of ${owner} stand in another order`),
  ];
}

/** Each once: those of the chassis are seen in every schema. */
function stepsOf(steps: Step[]): Step[] {
  return [...new Map(steps.map((step) => [step.name, step])).values()];
}

function ownerOf(name: string): string {
  return name.split('/')[0] ?? name;
}

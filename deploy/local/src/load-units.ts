import { type LoadedUnit, units } from './units.ts';

/** The code of all units, in the order in which they start. @throws Error where they do not fit together. */
export async function loadUnits(): Promise<LoadedUnit[]> {
  const loaded: LoadedUnit[] = await Promise.all(units.map(({ load }) => load()));
  const problems = misfits(loaded);
  if (problems.length > 0)
    throw new Error(`The units do not fit together:\n${problems.map((each) => `  ${each}\n`).join('')}`);
  return loaded;
}

type Parts = Pick<LoadedUnit, 'name' | 'serves' | 'publishes' | 'calls' | 'consumes'>;

/** In which ways units rely on what no other unit gives; none where they fit together. */
export function misfits(together: readonly Parts[]): string[] {
  const topics = together.flatMap(({ publishes = [] }) => publishes.map(({ name }) => name));
  const twice = topics.filter((name, index) => topics.indexOf(name) !== index);
  return [
    ...twice.map((topic) => `more than one unit publishes ${topic}`),
    ...together.flatMap(({ name, calls, consumes = [] }) => [
      ...consumes
        .filter((topic) => !topics.includes(topic))
        .map((topic) => `${name} consumes ${topic}, which no unit publishes`),
      ...calls
        .filter((called) => !together.some((unit) => unit.name === called && unit.serves.includes('rpc')))
        .map((called) => `${name} calls ${called}, which is no unit that serves rpc`),
    ]),
  ];
}

/** The groups that take the events of each topic. */
export function groupsOf(together: readonly Pick<LoadedUnit, 'name' | 'consumes'>[]): Record<string, string[]> {
  const groups: Record<string, string[]> = {};
  for (const { name, consumes = [] } of together) {
    for (const topic of consumes) groups[topic] = [...(groups[topic] ?? []), name];
  }
  return groups;
}

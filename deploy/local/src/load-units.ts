import { type LoadedUnit, units } from '@parley/units';

/** Loads the code of all units, in their start order. @throws Error if a unit depends on something that no unit provides */
export async function loadUnits(): Promise<LoadedUnit[]> {
  const loaded: LoadedUnit[] = await Promise.all(units.map(({ load }) => load()));
  const problems = misfits(loaded);
  if (problems.length > 0)
    throw new Error(`The units do not fit together:\n${problems.map((each) => `  ${each}\n`).join('')}`);
  return loaded;
}

type Parts = Pick<LoadedUnit, 'name' | 'serves' | 'publishes' | 'consumes'> & { calls: readonly string[] };

/** Lists calls that no unit serves, consumed events that no unit publishes, and topics that more than one unit publishes. */
export function misfits(together: readonly Parts[]): string[] {
  const topics = together.flatMap(({ publishes = [] }) => publishes);
  const names = topics.map(({ name }) => name);
  const twice = names.filter((name, index) => names.indexOf(name) !== index);
  return [
    ...twice.map((topic) => `more than one unit publishes ${topic}`),
    ...together.flatMap(({ name, calls, consumes = [] }) => [
      ...consumes
        .filter(({ topic, type }) => !topics.some((each) => each.name === topic && each.types.includes(type)))
        .map(({ topic, type }) => `${name} consumes ${type} from ${topic}, which no unit publishes there`),
      ...calls
        .filter((called) => !together.some((unit) => unit.name === called && unit.serves.includes('rpc')))
        .map((called) => `${name} calls ${called}, which is no unit that serves rpc`),
    ]),
  ];
}

/** Returns the consumer groups of each topic. */
export function groupsOf(together: readonly Pick<LoadedUnit, 'name' | 'consumes'>[]): Record<string, string[]> {
  const groups: Record<string, string[]> = {};
  for (const { name, consumes = [] } of together) {
    const consumed = new Set(consumes.map(({ topic }) => topic));
    for (const topic of consumed) groups[topic] = [...(groups[topic] ?? []), name];
  }
  return groups;
}

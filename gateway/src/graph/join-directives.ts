import { type ConstDirectiveNode, type DocumentNode, Kind } from 'graphql';

/** Maps each value of `join__Graph` to its unit. */
export function unitsOf({ definitions }: DocumentNode): Map<string, string> {
  const units = new Map<string, string>();
  for (const definition of definitions) {
    if (definition.kind !== Kind.ENUM_TYPE_DEFINITION || definition.name.value !== 'join__Graph') continue;
    for (const { name, directives } of definition.values ?? []) {
      const [unit] = argumentsOf(directives, 'join__graph', 'name');
      if (unit !== undefined) units.set(name.value, unit);
    }
  }
  return units;
}

export function argumentsOf(directives: readonly ConstDirectiveNode[] = [], name: string, argument: string): string[] {
  return directives
    .filter((directive) => directive.name.value === name)
    .flatMap((directive) => directive.arguments ?? [])
    .flatMap(({ name: key, value }) => (key.value === argument && 'value' in value ? [String(value.value)] : []));
}

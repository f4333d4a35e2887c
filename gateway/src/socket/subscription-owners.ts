import { type ConstDirectiveNode, type DocumentNode, Kind, parse } from 'graphql';

/** @throws Error when a field has no owner or several. */
export function subscriptionOwners(supergraphSdl: string): Map<string, string> {
  const owners = new Map<string, string>();
  const document = parse(supergraphSdl, { noLocation: true });
  const units = unitsOf(document);
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.OBJECT_TYPE_DEFINITION || definition.name.value !== 'Subscription') continue;
    const ofType = argumentsOf(definition.directives, 'join__type', 'graph');
    for (const { name, directives } of definition.fields ?? []) {
      const own = argumentsOf(directives, 'join__field', 'graph');
      const [graph = '', ...others] = own.length > 0 ? own : ofType;
      const unit = units.get(graph);
      if (unit === undefined || others.length > 0)
        throw new Error(`Subscription.${name.value} belongs to ${unit ? 'several subgraphs' : 'no subgraph'}`);
      owners.set(name.value, unit);
    }
  }
  return owners;
}

export function subgraphUnits(supergraphSdl: string): string[] {
  return [...unitsOf(parse(supergraphSdl, { noLocation: true })).values()];
}

/** The unit of each value of `join__Graph`. */
function unitsOf({ definitions }: DocumentNode): Map<string, string> {
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

function argumentsOf(directives: readonly ConstDirectiveNode[] = [], name: string, argument: string): string[] {
  return directives
    .filter((directive) => directive.name.value === name)
    .flatMap((directive) => directive.arguments ?? [])
    .flatMap(({ name: key, value }) => (key.value === argument && 'value' in value ? [String(value.value)] : []));
}

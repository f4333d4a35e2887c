import { Kind, parse } from 'graphql';
import { argumentsOf, unitsOf } from '../graph/join-directives.ts';

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

/** Returns the fields that have an argument for the event after which to resume. */
export function fieldsWithAfter(supergraphSdl: string): Set<string> {
  const fields = parse(supergraphSdl, { noLocation: true }).definitions.flatMap((definition) =>
    definition.kind === Kind.OBJECT_TYPE_DEFINITION && definition.name.value === 'Subscription'
      ? (definition.fields ?? [])
      : [],
  );
  const resumable = fields.filter(({ arguments: taken = [] }) => taken.some(({ name }) => name.value === 'after'));
  return new Set(resumable.map(({ name }) => name.value));
}

export function subgraphUnits(supergraphSdl: string): string[] {
  return [...unitsOf(parse(supergraphSdl, { noLocation: true })).values()];
}

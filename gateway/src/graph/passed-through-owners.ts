import { type DocumentNode, Kind, parse, type TypeNode } from 'graphql';
import type { FieldRules } from './field-rules.ts';
import { argumentsOf, unitsOf } from './join-directives.ts';

/**
 * Maps each field of `Query` that has `@passedThrough` to its unit.
 * @throws Error if a field outside `Query` has the directive, or if an answer may need several subgraphs
 */
export function passedThroughOwners(supergraphSdl: string, rules: FieldRules): Map<string, string> {
  const passed = [...rules].filter(([, { passedThrough }]) => passedThrough).map(([name]) => name);
  const document = parse(supergraphSdl, { noLocation: true });
  const units = unitsOf(document);
  const types = typesOf(document);
  return new Map(
    passed.map((name) => {
      const [type = '', field = ''] = name.split('.');
      const root = types.get(type)?.fields.get(field);
      const [graph = '', ...others] = root?.graphs ?? [];
      const unit = units.get(graph);
      if (type !== 'Query' || !root || unit === undefined || others.length > 0)
        throw new Error(`${name} cannot be passed through: it is no query of one subgraph`);
      const foreign = reached(root.type, types).find(({ graphs }) => graphs.some((each) => each !== graph));
      if (foreign) throw new Error(`${name} cannot be passed through: ${foreign.name} belongs to another subgraph too`);
      return [field, unit];
    }),
  );
}

interface Declared {
  name: string;
  graphs: string[];
  fields: Map<string, { type: string; graphs: string[] }>;
  /** The types that implement this interface or are members of this union. */
  kinds: string[];
}

/** Collects objects, interfaces and unions. Scalars and enums are the same in every subgraph. */
function typesOf({ definitions }: DocumentNode): Map<string, Declared> {
  const types = new Map<string, Declared>();
  const kinds: [string, string][] = [];
  for (const definition of definitions) {
    const { kind } = definition;
    if (
      kind !== Kind.OBJECT_TYPE_DEFINITION &&
      kind !== Kind.INTERFACE_TYPE_DEFINITION &&
      kind !== Kind.UNION_TYPE_DEFINITION
    )
      continue;
    const name = definition.name.value;
    const graphs = argumentsOf(definition.directives, 'join__type', 'graph');
    const fields = (kind === Kind.UNION_TYPE_DEFINITION ? [] : (definition.fields ?? [])).map((field) => {
      const own = argumentsOf(field.directives, 'join__field', 'graph');
      return [field.name.value, { type: nameOf(field.type), graphs: own.length > 0 ? own : graphs }] as const;
    });
    types.set(name, { name, graphs, fields: new Map(fields), kinds: [] });
    if (kind === Kind.UNION_TYPE_DEFINITION)
      kinds.push(...(definition.types ?? []).map((member) => [name, member.name.value] as [string, string]));
    else kinds.push(...(definition.interfaces ?? []).map((each) => [each.name.value, name] as [string, string]));
  }
  for (const [of, name] of kinds) types.get(of)?.kinds.push(name);
  return types;
}

function reached(from: string, types: ReadonlyMap<string, Declared>): Declared[] {
  const found = new Set<Declared>();
  const rest = [from];
  for (let name = rest.pop(); name !== undefined; name = rest.pop()) {
    const type = types.get(name);
    if (!type || found.has(type)) continue;
    found.add(type);
    rest.push(...type.kinds, ...[...type.fields.values()].map((field) => field.type));
  }
  return [...found];
}

function nameOf(type: TypeNode): string {
  return type.kind === Kind.NAMED_TYPE ? type.name.value : nameOf(type.type);
}

import { type FieldDefinitionNode, Kind, type ObjectTypeDefinitionNode, parse, type ValueNode } from 'graphql';

/** The kinds of credential that clients can have, by the contract's names. */
export type CredentialKind = 'JWT' | 'API_KEY' | 'SESSION_TOKEN';

/** What stands on a root field of the supergraph. */
export interface FieldRule {
  /** The credentials that it takes; none: it is public and looks at no credential. */
  by: CredentialKind[];
  /** At most so many requests per client address and fixed window. */
  throttle?: { requests: number; windowSeconds: number };
  /** The subgraph that serves it. */
  subgraph: string;
}

/** The rule of a root field, by type and field: `Query.myTenant`. */
export type FieldRules = ReadonlyMap<string, FieldRule>;

const rootTypes = new Set(['Query', 'Mutation', 'Subscription']);

/**
 * Reads `@access` and `@throttle` off the root fields of a supergraph's SDL.
 * @throws Error when a root field has no `@access`: nothing is public by mistake.
 */
export function readFieldRules(supergraphSdl: string): FieldRules {
  const rules = new Map<string, FieldRule>();
  for (const definition of parse(supergraphSdl, { noLocation: true }).definitions) {
    if (definition.kind !== Kind.OBJECT_TYPE_DEFINITION || !rootTypes.has(definition.name.value)) continue;
    for (const field of definition.fields ?? []) {
      const name = `${definition.name.value}.${field.name.value}`;
      const access = directive(field, 'access');
      if (!access) throw new Error(`${name} has no @access`);
      // A root type of a single subgraph says so itself, in place of its fields.
      const owner = directive(field, 'join__field') ?? directive(definition, 'join__type');
      if (!owner?.graph) throw new Error(`${name} is of no subgraph`);
      const throttle = directive(field, 'throttle');
      rules.set(name, {
        by: (access.by ?? []) as CredentialKind[],
        subgraph: String(owner.graph).toLowerCase(),
        ...(throttle && {
          throttle: { requests: Number(throttle.requests), windowSeconds: Number(throttle.windowSeconds) },
        }),
      });
    }
  }
  return rules;
}

type Annotated = Pick<FieldDefinitionNode | ObjectTypeDefinitionNode, 'directives'>;

function directive({ directives }: Annotated, name: string): Record<string, unknown> | undefined {
  const node = directives?.find((candidate) => candidate.name.value === name);
  return node && Object.fromEntries((node.arguments ?? []).map(({ name: key, value }) => [key.value, plain(value)]));
}

function plain(value: ValueNode): unknown {
  if (value.kind === Kind.LIST) return value.values.map(plain);
  return 'value' in value ? value.value : undefined;
}

import type { CredentialKind } from '@parley/chassis/graph/access';
import { type FieldDefinitionNode, Kind, parse, type ValueNode } from 'graphql';
import type { RootField } from './root-fields.ts';

/** What stands on a root field of the supergraph; each directive's meaning is in the SDL that all subgraphs share. */
export interface FieldRule {
  /** The credentials that it takes; none: it is public and looks at no credential. */
  by: CredentialKind[];
  /** Whether members of a suspended tenant may call it. */
  whileSuspended?: boolean;
  /** Whether a sign-in may call it whose second step is missing. */
  whileLimited?: boolean;
  throttle?: Throttle;
  /** Whether its body may be long. */
  longBody?: boolean;
  /** Whether it may change who callers are; `failing`: only a call that fails does. */
  changesCaller?: 'always' | 'failing';
  /** Whether it costs something each time, though it is a query. */
  sentOnce?: boolean;
}

/** At most so many requests per client address and fixed window. */
export interface Throttle {
  requests: number;
  windowSeconds: number;
  /** Whether the operation is refused while processes cannot count together. */
  failsClosed?: boolean;
}

/** The rule of a root field, by type and field: `Query.myTenant`. */
export type FieldRules = ReadonlyMap<string, FieldRule>;

/** The rule of a root field; undefined where the supergraph has no such field. */
export function ruleOf(rules: FieldRules, { type, name }: RootField): FieldRule | undefined {
  return rules.get(`${type}.${name}`);
}

/** The names of the operations whose bodies may be long. */
export function longOperations(rules: FieldRules): string[] {
  return [...rules].filter(([, { longBody }]) => longBody).map(([name]) => name.slice(name.indexOf('.') + 1));
}

const rootTypes = new Set(['Query', 'Mutation', 'Subscription']);

/**
 * Reads the rules off the root fields of a supergraph's SDL.
 * @throws Error when a root field has no `@access`: nothing is public by mistake.
 */
export function readFieldRules(supergraphSdl: string): FieldRules {
  const rules = new Map<string, FieldRule>();
  for (const definition of parse(supergraphSdl, { noLocation: true }).definitions) {
    if (definition.kind !== Kind.OBJECT_TYPE_DEFINITION || !rootTypes.has(definition.name.value)) continue;
    const type = definition.name.value;
    for (const field of definition.fields ?? []) rules.set(`${type}.${field.name.value}`, ruleOn(type, field));
  }
  return rules;
}

function ruleOn(type: string, field: FieldDefinitionNode): FieldRule {
  const access = directive(field, 'access');
  if (!access) throw new Error(`${type}.${field.name.value} has no @access`);
  const { by, whileSuspended = type === 'Query', whileLimited } = access;
  const throttle = directive(field, 'throttle');
  const changesCaller = directive(field, 'changesCaller');
  return {
    by: (by ?? []) as CredentialKind[],
    ...(whileSuspended === true && { whileSuspended }),
    ...(whileLimited === true && { whileLimited }),
    ...(throttle && {
      throttle: {
        requests: Number(throttle.requests),
        windowSeconds: Number(throttle.windowSeconds),
        ...(throttle.failsClosed === true && { failsClosed: true }),
      },
    }),
    ...(directive(field, 'longBody') && { longBody: true }),
    ...(directive(field, 'sentOnce') && { sentOnce: true }),
    ...(changesCaller && { changesCaller: changesCaller.onlyFailing === true ? 'failing' : 'always' }),
  };
}

function directive({ directives }: FieldDefinitionNode, name: string): Record<string, unknown> | undefined {
  const node = directives?.find((candidate) => candidate.name.value === name);
  return node && Object.fromEntries((node.arguments ?? []).map(({ name: key, value }) => [key.value, plain(value)]));
}

function plain(value: ValueNode): unknown {
  if (value.kind === Kind.LIST) return value.values.map(plain);
  return 'value' in value ? value.value : undefined;
}

import type { CredentialKind } from '@parley/graph/access';
import { type FieldDefinitionNode, Kind, parse, type TypeNode, type ValueNode } from 'graphql';
import type { RootField } from './root-fields.ts';

/** The directives of a root field; the shared SDL header explains each. */
export interface FieldRule {
  by: CredentialKind[];
  whileSuspended?: boolean;
  whileLimited?: boolean;
  throttle?: Throttle;
  longBody?: boolean;
  /** When the field changes the request's caller: always, or only if the field fails. */
  changesCaller?: 'always' | 'failing';
  /** Whether the field may switch the sign-in to another tenant. */
  changesTenant?: boolean;
  sentOnce?: boolean;
  longRunning?: boolean;
  /** Maximum number of concurrent calls that a tenant may make to the long-running fields of this subgraph. */
  callsPerTenant?: number;
  passedThrough?: boolean;
  /** Whether the result is an access token. */
  signsIn?: boolean;
}

export interface Throttle {
  requests: number;
  windowSeconds: number;
  /** Whether the operation is refused without Redis, when processes cannot share the counts of the throttle. */
  failsClosed?: boolean;
}

/** Keyed by type and field: `Query.myTenant`. */
export type FieldRules = ReadonlyMap<string, FieldRule>;

export function ruleOf(rules: FieldRules, { type, name }: RootField): FieldRule | undefined {
  return rules.get(`${type}.${name}`);
}

/** Returns the smallest `callsPerTenant` of the long-running fields; undefined if no field is long running. */
export function longRunning(
  rules: FieldRules,
  fields: RootField[],
): { callsPerTenant: number | undefined } | undefined {
  const long = fields.flatMap((field) => ruleOf(rules, field) ?? []).filter((rule) => rule.longRunning);
  if (long.length === 0) return undefined;
  const [callsPerTenant] = long.flatMap((rule) => rule.callsPerTenant ?? []).toSorted((a, b) => a - b);
  return { callsPerTenant };
}

export function longOperations(rules: FieldRules): string[] {
  return [...rules].filter(([, { longBody }]) => longBody).map(([name]) => name.slice(name.indexOf('.') + 1));
}

const rootTypes = new Set(['Query', 'Mutation', 'Subscription']);

/** @throws Error when a root field has no `@access`, so that nothing is public by mistake. */
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
  const longRunning = directive(field, 'longRunning');
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
    ...(longRunning && { longRunning: true }),
    ...(longRunning?.callsPerTenant !== undefined && { callsPerTenant: Number(longRunning.callsPerTenant) }),
    ...(directive(field, 'passedThrough') && { passedThrough: true }),
    ...(changesCaller && { changesCaller: changesCaller.onlyFailing === true ? 'failing' : 'always' }),
    ...(changesCaller?.tenant === true && { changesTenant: true }),
    ...(isAccessToken(field.type) && { signsIn: true }),
  };
}

function isAccessToken(type: TypeNode): boolean {
  return type.kind === Kind.NAMED_TYPE ? type.name.value === 'AccessToken' : isAccessToken(type.type);
}

function directive({ directives }: FieldDefinitionNode, name: string): Record<string, unknown> | undefined {
  const node = directives?.find((candidate) => candidate.name.value === name);
  return node && Object.fromEntries((node.arguments ?? []).map(({ name: key, value }) => [key.value, plain(value)]));
}

function plain(value: ValueNode): unknown {
  if (value.kind === Kind.LIST) return value.values.map(plain);
  return 'value' in value ? value.value : undefined;
}

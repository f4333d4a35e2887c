import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  buildClientSchema,
  type ConstDirectiveNode,
  type ConstValueNode,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLNamedInputType,
  getIntrospectionQuery,
  getNamedType,
  type IntrospectionQuery,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  Kind,
  parse,
} from 'graphql';
import type { Client } from './client.ts';
import { selectionOf } from './operation-walk.ts';

export type CredentialKind = 'JWT' | 'API_KEY' | 'SESSION_TOKEN';

/** One operation that the gateway serves, by its introspection, with what the supergraph says of it. */
export interface Operation {
  kind: 'query' | 'mutation' | 'subscription';
  name: string;
  field: GraphQLField<unknown, unknown>;
  /** The credentials that it takes; none: it is public. */
  by: CredentialKind[];
  throttle: { requests: number; windowSeconds: number } | undefined;
  /** Takes every argument as a variable of its name, and asks for all plain fields of the answer. */
  document: string;
  /** The same operation so many times in one document, by aliases, with as small an answer as can be. */
  repeated(times: number): string;
  /** Every place in the arguments that takes text: `String`s, and JSON, in which text may stand. */
  texts: TextPlace[];
  /** Variables of the right types: what is required, what `choose` answers for, and what leads there. */
  variables(choose?: Choose): Record<string, unknown>;
}

export interface TextPlace {
  /** Where in the arguments: `email`, or `input.name`. */
  path: string;
  type: 'String' | 'JSON';
}

/** The value at a place, or undefined for the ordinary one; for an input object: whether it is to be there at all. */
export type Choose = (path: string, type: GraphQLNamedInputType) => unknown;

const supergraph = new URL('../../../gateway/supergraph.graphql', import.meta.url);
/** Beside the checkout, or where PARLEY_CONTRACT_DIR says. */
const contract = join(
  process.env.PARLEY_CONTRACT_DIR || fileURLToPath(new URL('../../../../shared/contract', import.meta.url)),
  'operations.json',
);

/** Everything that the gateway serves. */
export async function servedOperations(client: Client): Promise<Operation[]> {
  const schema = buildClientSchema(await client.query<IntrospectionQuery>(getIntrospectionQuery()));
  const rules = readRules();
  const roots = [
    ['query', schema.getQueryType()],
    ['mutation', schema.getMutationType()],
    ['subscription', schema.getSubscriptionType()],
  ] as const;
  return roots.flatMap(([kind, root]) =>
    Object.values(root?.getFields() ?? {}).map((field) => {
      const rule = rules.get(`${root?.name}.${field.name}`);
      if (!rule) throw new Error(`${field.name} is served, and the supergraph does not say to whom`);
      return operationOf(kind, field, rule);
    }),
  );
}

/** Who may do what by the contract, by operation; undefined where it does not lie beside this checkout. */
export function contractAccess(): Map<string, CredentialKind[]> | undefined {
  if (!existsSync(contract)) return undefined;
  const rows = JSON.parse(readFileSync(contract, 'utf8')) as { operation: string; auth: CredentialKind[] }[];
  return new Map(rows.map(({ operation, auth }) => [operation, auth]));
}

function operationOf(
  kind: Operation['kind'],
  field: GraphQLField<unknown, unknown>,
  rule: Pick<Operation, 'by' | 'throttle'>,
): Operation {
  const declared = field.args.map(({ name, type }) => `$${name}: ${type}`).join(', ');
  const passed = field.args.map(({ name }) => `${name}: $${name}`).join(', ');
  const args = field.args.length > 0 ? `(${passed})` : '';
  const head = `${kind} ${declared && `(${declared})`}`;
  const selection = selectionOf(field);
  return {
    kind,
    name: field.name,
    field,
    ...rule,
    document: `${head} { ${field.name}${args} ${selection} }`,
    repeated(times) {
      const plain = `${field.name}${args} ${selection && '{ __typename }'}`;
      return `${head} { ${Array.from({ length: times }, (_, n) => `a${n}: ${plain}`).join(' ')} }`;
    },
    texts: field.args.flatMap(({ name, type }) => textPlaces(name, type)),
    variables: (choose = () => undefined) =>
      entriesOf(
        field.args.map((arg) => ({ ...arg, path: arg.name })),
        choose,
      ),
  };
}

function textPlaces(path: string, of: GraphQLInputType): TextPlace[] {
  const type = getNamedType(of);
  if (isInputObjectType(type)) {
    return Object.values(type.getFields()).flatMap((field) => textPlaces(`${path}.${field.name}`, field.type));
  }
  if (type.name === 'String') return [{ path, type: 'String' }];
  return type.name === 'JSON' || type.name === 'JSONObject' ? [{ path, type: 'JSON' }] : [];
}

interface Place {
  name: string;
  type: GraphQLInputType;
  path: string;
}

function entriesOf(places: Place[], choose: Choose): Record<string, unknown> {
  const entries = places.map(({ name, type, path }) => [name, valueOf(type, path, choose)] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

function valueOf(type: GraphQLInputType, path: string, choose: Choose): unknown {
  const named = getNamedType(type);
  const chosen = choose(path, named);
  const isList = isListType(isNonNullType(type) ? type.ofType : type);
  if (isInputObjectType(named)) {
    if (!isNonNullType(type) && !chosen) return undefined;
    const fields = Object.values(named.getFields());
    const value = entriesOf(
      fields.map((field) => ({ ...field, path: `${path}.${field.name}` })),
      choose,
    );
    return isList ? [value] : value;
  }
  const value = chosen === undefined && isNonNullType(type) ? ordinary(named) : chosen;
  return value !== undefined && isList ? [value] : value;
}

function ordinary(type: GraphQLNamedInputType): unknown {
  if (isEnumType(type)) return type.getValues()[0]?.name;
  const byName: Record<string, unknown> = { Boolean: true, Int: 1, Float: 1, ID: '1', String: 'some text' };
  return type.name in byName ? byName[type.name] : {};
}

function readRules(): Map<string, Pick<Operation, 'by' | 'throttle'>> {
  const { definitions } = parse(readFileSync(supergraph, 'utf8'));
  const rules = new Map<string, Pick<Operation, 'by' | 'throttle'>>();
  for (const type of definitions) {
    if (type.kind !== Kind.OBJECT_TYPE_DEFINITION) continue;
    for (const field of type.fields ?? []) {
      const access = field.directives?.find(({ name }) => name.value === 'access');
      const throttle = field.directives?.find(({ name }) => name.value === 'throttle');
      if (!access) continue;
      const by = argumentOf(access, 'by');
      rules.set(`${type.name.value}.${field.name.value}`, {
        by: by?.kind === Kind.LIST ? by.values.map((value) => textOf(value) as CredentialKind) : [],
        throttle: throttle && {
          requests: Number(textOf(argumentOf(throttle, 'requests'))),
          windowSeconds: Number(textOf(argumentOf(throttle, 'windowSeconds'))),
        },
      });
    }
  }
  return rules;
}

function argumentOf(directive: ConstDirectiveNode, name: string): ConstValueNode | undefined {
  return directive.arguments?.find((argument) => argument.name.value === name)?.value;
}

function textOf(value: ConstValueNode | undefined): string {
  return value && 'value' in value ? String(value.value) : '';
}

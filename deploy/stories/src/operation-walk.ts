import {
  buildClientSchema,
  type GraphQLField,
  type GraphQLInputType,
  getIntrospectionQuery,
  getNamedType,
  type IntrospectionQuery,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import type { Client } from './client.ts';

/** One place of one operation where a client names a thing by its id. */
export interface IdArgument {
  kind: 'query' | 'mutation' | 'subscription';
  operation: string;
  /** Where in the arguments: `id`, or `input.sessionId`. */
  path: string;
  /** ID arguments take text, Int ones numbers. */
  type: 'ID' | 'Int' | 'Float';
  /** What the answer is when nothing is there: by the field's type, null, or an empty list, or an error. */
  nullable: boolean;
  list: boolean;
  document: string;
  /** The variables with `id`, an id or not, at its place and something valid at the others. */
  variables(id: unknown): Record<string, unknown>;
}

/** An id that may be given beside the one that is walked, e.g. for `updateAgent id`. */
export type OwnId = (place: string) => number;

/** Every id argument of every operation that the gateway serves, read from its introspection. */
export async function idArguments(client: Client, ownId: OwnId): Promise<IdArgument[]> {
  const schema = buildClientSchema(await client.query<IntrospectionQuery>(getIntrospectionQuery()));
  const roots = [
    ['query', schema.getQueryType()],
    ['mutation', schema.getMutationType()],
    ['subscription', schema.getSubscriptionType()],
  ] as const;
  return roots.flatMap(([kind, root]) =>
    Object.values(root?.getFields() ?? {}).flatMap((field) =>
      field.args.flatMap((arg) => idPaths(arg.name, arg.type)).map((path) => idArgument(kind, field, path, ownId)),
    ),
  );
}

/** Paths of everything that is called an id, `clientTurnId` and other foreign names apart: those are text. */
function idPaths(name: string, type: GraphQLInputType, before = ''): string[] {
  const path = `${before}${name}`;
  const named = getNamedType(type);
  if (isInputObjectType(named)) {
    return Object.values(named.getFields()).flatMap((field) => idPaths(field.name, field.type, `${path}.`));
  }
  return isId(name, named.name) ? [path] : [];
}

function isId(name: string, type: string): boolean {
  return /^(id|\w+Ids?)$/.test(name) && ['ID', 'Int', 'Float'].includes(type);
}

function idArgument(
  kind: IdArgument['kind'],
  field: GraphQLField<unknown, unknown>,
  path: string,
  ownId: OwnId,
): IdArgument {
  const steps = path.split('.');
  const declared = field.args.map(({ name, type }) => `$${name}: ${type}`).join(', ');
  const passed = field.args.map(({ name }) => `${name}: $${name}`).join(', ');
  let type: GraphQLInputType | undefined = field.args.find(({ name }) => name === steps[0])?.type;
  for (const step of steps.slice(1)) {
    const named = type && getNamedType(type);
    type = isInputObjectType(named) ? named.getFields()[step]?.type : undefined;
  }
  if (!type) throw new Error(`${field.name} has no ${path}`);
  return {
    kind,
    operation: field.name,
    path,
    type: getNamedType(type).name as IdArgument['type'],
    nullable: !isNonNullType(field.type),
    list: isListType(isNonNullType(field.type) ? field.type.ofType : field.type),
    document: `${kind} (${declared}) { ${field.name}(${passed}) ${selectionOf(field)} }`,
    variables: (id) => {
      const fill = filler(field.name, path, id, ownId);
      return object(field.args.map(({ name, type: of }) => [name, fill(name, of)]));
    },
  };
}

/** Gives required values, and those on the way to the walked place; undefined for all others. */
function filler(operation: string, walked: string, id: unknown, ownId: OwnId) {
  return function fill(path: string, type: GraphQLInputType): unknown {
    if (path === walked) return isListType(isNonNullType(type) ? type.ofType : type) ? [id] : id;
    if (!isNonNullType(type) && !walked.startsWith(`${path}.`)) return undefined;
    const named = getNamedType(type);
    if (isInputObjectType(named)) {
      return object(Object.values(named.getFields()).map(({ name, type: of }) => [name, fill(`${path}.${name}`, of)]));
    }
    if (isEnumType(named)) return named.getValues()[0]?.name;
    if (isId(path.split('.').at(-1) ?? '', named.name)) return ownId(`${operation} ${path}`);
    if (named.name === 'Boolean') return true;
    if (named.name === 'Int' || named.name === 'Float') return 1;
    return named.name === 'String' ? 'some text' : {};
  };
}

function object(entries: [string, unknown][]): Record<string, unknown> {
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** Everything of the answer that takes no arguments and no further selection. */
export function selectionOf(field: GraphQLField<unknown, unknown>): string {
  const type = getNamedType(field.type);
  if (isLeafType(type)) return '';
  const leaves = isObjectType(type)
    ? Object.values(type.getFields()).filter(({ type: of, args }) => isLeafType(getNamedType(of)) && args.length === 0)
    : [];
  return `{ __typename ${leaves.map(({ name }) => name).join(' ')} }`;
}

import { readFileSync } from 'node:fs';
import type { CredentialKind } from '@parley/graph/access';
import {
  buildASTSchema,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLNamedInputType,
  getDirectiveValues,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  OperationTypeNode,
  parse,
} from 'graphql';

type Field = GraphQLField<unknown, unknown>;

/** One operation that the gateway serves. */
export type Operation = ReturnType<typeof servedOperations>[number];

/** Where in the arguments one value stands, `email` or `input.name`, and the name of its scalar or enum. */
export type Place = { path: string; type: string };

/** The value at a place, or undefined for the ordinary one; for an input object: whether it is to be there at all. */
type Choose = (path: string, type: GraphQLNamedInputType, isRequired: boolean) => unknown;

const supergraph = new URL('../../../gateway/supergraph.graphql', import.meta.url);

/** Everything that the gateway serves, by its supergraph. That it serves just this, the walk of credentials looks at. */
export function servedOperations() {
  const schema = buildASTSchema(parse(readFileSync(supergraph, 'utf8')), { assumeValidSDL: true });
  const rule = <T>({ name, astNode }: Field, directiveName: string) => {
    const directive = schema.getDirective(directiveName);
    if (!directive || !astNode) throw new Error(`The supergraph does not say what @${directiveName} of ${name} is`);
    return getDirectiveValues(directive, astNode) as T | undefined;
  };
  return Object.values(OperationTypeNode).flatMap((kind) =>
    Object.values(schema.getRootType(kind)?.getFields() ?? {}).map((field) => {
      const access = rule<{ by: CredentialKind[] }>(field, 'access');
      if (!access) throw new Error(`The supergraph does not say who may ask for ${field.name}`);
      return {
        ...operationOf(kind, field),
        /** The credentials that it takes; none: it is public. */
        by: access.by,
        throttle: rule<{ requests: number; windowSeconds: number }>(field, 'throttle'),
        /** The service that answers it. */
        service: rule<{ graph: string }>(field, 'join__field')?.graph ?? '',
      };
    }),
  );
}

/** Whether this is where a thing is named by its id; `clientTurnId` and other foreign names are text and none. */
export function isId({ path, type }: Place): boolean {
  return /(^|\.)(id|\w+Ids?)$/u.test(path) && ['ID', 'Int', 'Float'].includes(type);
}

/** Whether text may stand there. */
export function isText({ type }: Place): boolean {
  return ['String', 'JSON', 'JSONObject'].includes(type);
}

function operationOf(kind: `${OperationTypeNode}`, field: Field) {
  const declared = field.args.map(({ name, type }) => `$${name}: ${type}`).join(', ');
  const passed = field.args.map(({ name }) => `${name}: $${name}`).join(', ');
  const args = passed && `(${passed})`;
  const head = `${kind} ${declared && `(${declared})`}`;
  const selection = selectionOf(field);
  return {
    kind,
    name: field.name,
    field,
    /** Takes every argument as a variable of its name, and asks for all plain fields of the answer. */
    document: `${head} { ${field.name}${args} ${selection} }`,
    /** The same operation so many times in one document, by aliases, with as small an answer as can be. */
    repeated(times: number): string {
      const plain = `${field.name}${args} ${selection && '{ __typename }'}`;
      return `${head} { ${Array.from({ length: times }, (_, n) => `a${n}: ${plain}`).join(' ')} }`;
    },
    /** Every place in the arguments that takes one value. */
    places: field.args.flatMap(({ name, type }) => placesIn(name, type)),
    /** Variables of the right types: what is required, what `choose` answers for, and what leads there. */
    variables: (choose: Choose = () => undefined): Record<string, unknown> => objectOf(field.args, '', choose),
  };
}

/** Everything of the answer that takes no arguments and no further selection. */
function selectionOf(field: Field): string {
  const type = getNamedType(field.type);
  if (isLeafType(type)) return '';
  const fields = isObjectType(type) ? Object.values(type.getFields()) : [];
  const leaves = fields.filter(({ type: of, args }) => isLeafType(getNamedType(of)) && args.length === 0);
  return `{ __typename ${leaves.map(({ name }) => name).join(' ')} }`;
}

function placesIn(path: string, of: GraphQLInputType): Place[] {
  const type = getNamedType(of);
  if (!isInputObjectType(type)) return [{ path, type: type.name }];
  return Object.values(type.getFields()).flatMap((field) => placesIn(`${path}.${field.name}`, field.type));
}

function objectOf(fields: readonly Pick<GraphQLInputField, 'name' | 'type'>[], before: string, choose: Choose) {
  const entries = fields.map(({ name, type }) => [name, valueOf(type, `${before}${name}`, choose)] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

function valueOf(of: GraphQLInputType, path: string, choose: Choose): unknown {
  const type = getNamedType(of);
  const isRequired = isNonNullType(of);
  const chosen = choose(path, type, isRequired);
  if (chosen === undefined && !isRequired) return undefined;
  const isObject = isInputObjectType(type);
  const value = isObject ? objectOf(Object.values(type.getFields()), `${path}.`, choose) : (chosen ?? ordinary(type));
  return isListType(getNullableType(of)) ? [value] : value;
}

function ordinary(type: GraphQLNamedInputType): unknown {
  if (isEnumType(type)) return type.getValues()[0]?.name;
  const byName: Record<string, unknown> = { Boolean: true, Int: 1, Float: 1, ID: '1', String: 'some text' };
  return type.name in byName ? byName[type.name] : {};
}

import { readFileSync } from 'node:fs';
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
import { readFieldRules } from '../../../gateway/src/graph/field-rules.ts';

type Field = GraphQLField<unknown, unknown>;

/** One operation of the gateway. */
export type Operation = ReturnType<typeof servedOperations>[number];

/** One value in the arguments of an operation. */
export interface Place {
  /** The path in the arguments, e.g. `id` or `input.name`. */
  path: string;
  /** The name of the scalar or enum. */
  type: string;
  /**
   * The input type and its field that holds the value, e.g. `RegisterInput.email`. If the argument is not of an input type, the value's
   * path.
   */
  inputField: string;
}

/**
 * Returns the value for a place; undefined for the default value. Also called for each input object: the result then determines whether the
 * object is present.
 */
type Choose = (path: string, type: GraphQLNamedInputType, isRequired: boolean) => unknown;

const supergraph = new URL('../../../gateway/supergraph.graphql', import.meta.url);

/** Returns all operations of the supergraph. A test of credentials checks that the gateway serves exactly these operations. */
export function servedOperations() {
  const sdl = readFileSync(supergraph, 'utf8');
  const schema = buildASTSchema(parse(sdl), { assumeValidSDL: true });
  const rules = readFieldRules(sdl);
  const place = schema.getDirective('join__field');
  return Object.values(OperationTypeNode).flatMap((kind) => {
    const type = schema.getRootType(kind);
    return Object.values(type?.getFields() ?? {}).map((field) => {
      const rule = rules.get(`${type}.${field.name}`);
      if (!rule || !place || !field.astNode) throw new Error(`The supergraph has no rules for ${field.name}`);
      /** `by`: the credentials that the operation accepts, empty if the operation is public. `throttle`: the operation's rate limit. */
      const { by, throttle } = rule;
      /** The service that resolves the operation. */
      const service = getDirectiveValues(place, field.astNode)?.graph;
      return { ...operationOf(kind, field), by, throttle, service };
    });
  });
}

/** Reports whether the value is an id that Parley assigns. Ids that clients choose, such as `clientTurnId`, are texts. */
export function isId({ path, type }: Pick<Place, 'path' | 'type'>): boolean {
  return /(^|\.)(id|\w+Ids?)$/u.test(path) && ['ID', 'Int', 'Float'].includes(type);
}

/** Reports whether the value is a text. */
export function isText({ type }: Pick<Place, 'type'>): boolean {
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
    /** A document that has a variable for each argument and selects all scalar fields of the result. */
    document: `${head} { ${field.name}${args} ${selection} }`,
    /** Returns a document with the same operation several times, with aliases and a minimal selection. */
    repeated(times: number): string {
      const plain = `${field.name}${args} ${selection && '{ __typename }'}`;
      return `${head} { ${Array.from({ length: times }, (_, n) => `a${n}: ${plain}`).join(' ')} }`;
    },
    /** The places of all values in the arguments. */
    places: field.args.flatMap(({ name, type }) => placesIn(name, type)),
    /**
     * Returns valid variables: values for required arguments and fields, values that `choose` returns, and the input objects around them.
     */
    variables: (choose: Choose = () => undefined): Record<string, unknown> => objectOf(field.args, '', choose),
  };
}

/** Returns a selection of all scalar fields of the result that have no arguments. */
function selectionOf(field: Field): string {
  const type = getNamedType(field.type);
  if (isLeafType(type)) return '';
  const fields = isObjectType(type) ? Object.values(type.getFields()) : [];
  const leaves = fields.filter(({ type: of, args }) => isLeafType(getNamedType(of)) && args.length === 0);
  return `{ __typename ${leaves.map(({ name }) => name).join(' ')} }`;
}

function placesIn(path: string, of: GraphQLInputType, inputField = path): Place[] {
  const type = getNamedType(of);
  if (!isInputObjectType(type)) return [{ path, type: type.name, inputField }];
  return Object.values(type.getFields()).flatMap((field) =>
    placesIn(`${path}.${field.name}`, field.type, `${type}.${field.name}`),
  );
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

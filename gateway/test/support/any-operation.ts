import {
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isRequiredArgument,
  isRequiredInputField,
} from 'graphql';

/** Returns a minimal valid document that selects one root field (`Query.agents`). */
export function anyOperation(schema: GraphQLSchema, name: string): string {
  const [typeName = '', fieldName = ''] = name.split('.');
  const root = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].find(
    (type) => type?.name === typeName,
  );
  const field = root?.getFields()[fieldName];
  if (!field) throw new Error(`There is no ${name}`);
  return `${typeName.toLowerCase()} { ${selectionOf(field)} }`;
}

function selectionOf({ name, args, type }: GraphQLField<unknown, unknown>): string {
  const needed = args.filter(isRequiredArgument).map((arg) => `${arg.name}: ${literalOf(arg.type)}`);
  const selection = isLeafType(getNamedType(type)) ? '' : ' { __typename }';
  return `${name}${needed.length > 0 ? `(${needed.join(', ')})` : ''}${selection}`;
}

const scalars: Record<string, string> = {
  Int: '1',
  Float: '1',
  Boolean: 'true',
  ID: '"1"',
  DateTime: '"2026-01-02T03:04:05.678Z"',
  JSON: '{}',
  JSONObject: '{}',
};

function literalOf(type: GraphQLInputType): string {
  if (isNonNullType(type)) return literalOf(type.ofType);
  if (isListType(type)) return `[${literalOf(type.ofType)}]`;
  if (isEnumType(type)) return type.getValues()[0]?.name ?? 'null';
  if (isInputObjectType(type)) {
    const needed = Object.values(type.getFields()).filter(isRequiredInputField);
    return `{${needed.map((field) => `${field.name}: ${literalOf(field.type)}`).join(', ')}}`;
  }
  return scalars[type.name] ?? '"ada@example.com"';
}

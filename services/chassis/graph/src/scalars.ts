import { isJsonObject } from '@parley/kernel/json';
import { GraphQLError, GraphQLScalarType, Kind, type ValueNode, valueFromASTUntyped } from 'graphql';

const DateTime = new GraphQLScalarType<Date, string>({
  name: 'DateTime',
  description: 'A time as ISO 8601, in UTC with milliseconds.',
  serialize: (value) => (value instanceof Date ? value : new Date(String(value))).toISOString(),
  parseValue: (value) => toDate(value),
  parseLiteral: (node) => toDate(node.kind === Kind.STRING ? node.value : undefined),
});

const JSONScalar = new GraphQLScalarType<unknown, unknown>({
  name: 'JSON',
  description: 'Any JSON value.',
  serialize: (value) => value,
  parseValue: (value) => value,
  parseLiteral: (node, variables) => valueFromASTUntyped(node, variables),
});

const JSONObject = new GraphQLScalarType<Record<string, unknown>, Record<string, unknown>>({
  name: 'JSONObject',
  description: 'A JSON object.',
  serialize: (value) => toObject(value),
  parseValue: (value) => toObject(value),
  parseLiteral: (node: ValueNode, variables) => toObject(valueFromASTUntyped(node, variables)),
});

export const scalars = { DateTime, JSON: JSONScalar, JSONObject };

function toDate(value: unknown): Date {
  const date = typeof value === 'string' ? new Date(value) : undefined;
  if (!date || Number.isNaN(date.getTime())) throw new GraphQLError('DateTime must be an ISO 8601 string');
  return date;
}

function toObject(value: unknown): Record<string, unknown> {
  if (!isJsonObject(value)) throw new GraphQLError('JSONObject must be a JSON object');
  return value;
}

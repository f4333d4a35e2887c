import { scalars } from '@parley/chassis/graph/scalars';
import { type GraphQLSchema, isScalarType } from 'graphql';

/**
 * Teaches a composed schema what its own scalars take: it would take anything, and what a service then refuses would be told
 * without its place. Nothing else about the scalars changes.
 */
export function checkOwnScalars(schema: GraphQLSchema): void {
  for (const { name, parseValue, parseLiteral } of Object.values(scalars)) {
    const type = schema.getType(name);
    if (isScalarType(type)) Object.assign(type, { parseValue, parseLiteral });
  }
}

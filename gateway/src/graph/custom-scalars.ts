import { scalars } from '@parley/chassis/graph/scalars';
import { GraphQLError, type GraphQLScalarLiteralParser, type GraphQLSchema, isScalarType } from 'graphql';

/**
 * Teaches a composed schema what its own scalars take: it would take anything, and what a service then refuses would be told
 * without its place. Nothing else about the scalars changes.
 */
export function installCustomScalars(schema: GraphQLSchema): void {
  for (const { name, parseValue, parseLiteral } of Object.values(scalars)) {
    const type = schema.getType(name);
    if (isScalarType(type)) Object.assign(type, { parseValue, parseLiteral: inPlace(parseLiteral) });
  }
}

/** What a scalar says of a literal names no node, and validation adds none to a GraphQLError. */
function inPlace<T>(parseLiteral: GraphQLScalarLiteralParser<T>): GraphQLScalarLiteralParser<T> {
  return (node, variables) => {
    try {
      return parseLiteral(node, variables);
    } catch (error) {
      if (!(error instanceof GraphQLError)) throw error;
      throw new GraphQLError(error.message, { nodes: node, originalError: error });
    }
  };
}

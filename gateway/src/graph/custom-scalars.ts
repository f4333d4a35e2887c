import { scalars } from '@parley/graph/scalars';
import { GraphQLError, type GraphQLScalarLiteralParser, type GraphQLSchema, isScalarType } from 'graphql';

/** Installs the parsers of custom scalars. Without them the composed schema accepts any value, and errors of subgraphs have no location. */
export function installCustomScalars(schema: GraphQLSchema): void {
  for (const { name, parseValue, parseLiteral } of Object.values(scalars)) {
    const type = schema.getType(name);
    if (isScalarType(type)) Object.assign(type, { parseValue, parseLiteral: inPlace(parseLiteral) });
  }
}

/** Adds the node to an error of the parser, because validation adds no location to an error that is already a GraphQLError. */
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

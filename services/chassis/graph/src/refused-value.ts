import { type GraphQLError, Kind, print } from 'graphql';

/**
 * Returns the error message for a value (of a variable or an argument) that graphql-js refuses. It replaces the message of graphql-js,
 * which quotes the value: the value may be a secret. Undefined for every other error.
 */
export function refusedValue({ nodes: [node] = [], message }: GraphQLError): string | undefined {
  if (node?.kind === Kind.VARIABLE_DEFINITION) {
    return `Variable "$${node.variable.name.value}" must be of type "${print(node.type)}"`;
  }
  // A literal with a variable passes validation, but is invalid at run time if the variable is null despite its default.
  return /^Argument "\w+" (?=has invalid value|of (?:required|non-null) type)/
    .exec(message)?.[0]
    .concat('must be of its type');
}

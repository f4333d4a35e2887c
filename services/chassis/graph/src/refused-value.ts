import { type GraphQLError, Kind, print } from 'graphql';

/**
 * What to say where graphql-js refuses the value of a variable or an argument: its own words quote it, and it may be a secret.
 * Undefined for every other error.
 */
export function refusedValue({ nodes: [node] = [], message }: GraphQLError): string | undefined {
  if (node?.kind === Kind.VARIABLE_DEFINITION) {
    return `Variable "$${node.variable.name.value}" must be of type "${print(node.type)}"`;
  }
  // A literal passes validation and is none of its type where a variable in it is null in spite of its default.
  return /^Argument "\w+" (?=has invalid value|of (?:required|non-null) type)/
    .exec(message)?.[0]
    .concat('must be of its type');
}

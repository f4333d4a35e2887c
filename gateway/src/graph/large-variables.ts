import {
  coerceInputValue,
  GraphQLError,
  type GraphQLSchema,
  isInputType,
  type OperationDefinitionNode,
  typeFromAST,
} from 'graphql';
import { holdsMoreThan } from '../limits/count-values.ts';

/** Values from which on variables are large. */
const manyValues = 1_000;

/**
 * The first value in large variables that is not of its type. Execution tells each of its errors with all of the value that is
 * wrong, which takes longer than anything else about a large one; this tells where it stands. Undefined where there is none, or
 * the variables are not large.
 */
export function problemInLarge(
  schema: GraphQLSchema,
  { variableDefinitions = [] }: OperationDefinitionNode,
  variables: Readonly<Record<string, unknown>>,
): GraphQLError | undefined {
  if (!holdsMoreThan(manyValues, variables)) return undefined;
  for (const definition of variableDefinitions) {
    const name = definition.variable.name.value;
    const type = typeFromAST(schema, definition.type);
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (!isInputType(type) || value === undefined || value === null) continue;
    try {
      coerceInputValue(value, type, (path, _value, error) => {
        const at = [name, ...path].join('.');
        throw new GraphQLError(`Variable "$${name}" got invalid value at "${at}"; ${error.message}`, {
          nodes: definition,
        });
      });
    } catch (error) {
      if (error instanceof GraphQLError) return error;
      throw error;
    }
  }
  return undefined;
}

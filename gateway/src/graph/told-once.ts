import {
  GraphQLError,
  getNamedType,
  isInputObjectType,
  Kind,
  type ValidationContext,
  type ValidationRule,
  ValuesOfCorrectTypeRule,
} from 'graphql';

/**
 * The rules for one validation, with what they say changed in two ways: each problem of a place is told once, however often it
 * stands there, and none quotes a value of the document, which may be a secret.
 */
export function toldOnce(rules: readonly ValidationRule[]): ValidationRule[] {
  const told = new Map<unknown, Set<string>>();

  function isNew({ nodes: [place] = [], message }: GraphQLError): boolean {
    const messages = told.get(place) ?? new Set();
    told.set(place, messages);
    return messages.size < messages.add(message).size;
  }

  return rules.map((rule) => (context: ValidationContext) => {
    const reportError = (error: GraphQLError) => {
      const quiet = rule === ValuesOfCorrectTypeRule ? withoutValue(context, error) : error;
      if (isNew(quiet)) context.reportError(quiet);
    };
    return rule(Object.create(context, { reportError: { value: reportError } }) as ValidationContext);
  });
}

/** What a literal is to be, instead of what it is. A field that is missing, or is none, is told by its name. */
function withoutValue(context: ValidationContext, error: GraphQLError): GraphQLError {
  const [node] = error.nodes ?? [];
  const type = context.getInputType();
  const isOfFields = node?.kind === Kind.OBJECT && isInputObjectType(getNamedType(type));
  if (node?.kind === Kind.OBJECT_FIELD || isOfFields) return error;
  return new GraphQLError(`Expected a value of type "${type}".`, { nodes: error.nodes ?? null });
}

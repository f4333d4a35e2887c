import {
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  type SelectionSetNode,
  type ValidationContext,
  type ValidationRule,
} from 'graphql';

/**
 * Replaces the rule of graphql-js with the same purpose. That rule evaluates `@skip` and `@include` without variables and throws; this one
 * ignores both directives.
 */
export const singleRootField: ValidationRule = (context: ValidationContext) => ({
  OperationDefinition({ operation, selectionSet }) {
    if (operation !== 'subscription') return false;
    const names = new Map<string, string>();
    const entered = new Set<FragmentDefinitionNode>();
    const collect = ({ selections }: SelectionSetNode): void => {
      for (const selection of selections) {
        if (selection.kind === Kind.FIELD) {
          names.set((selection.alias ?? selection.name).value, selection.name.value);
        } else if (selection.kind === Kind.INLINE_FRAGMENT) collect(selection.selectionSet);
        else {
          const fragment = context.getFragment(selection.name.value);
          if (!fragment || entered.has(fragment)) continue;
          entered.add(fragment);
          collect(fragment.selectionSet);
        }
      }
    };
    collect(selectionSet);
    if (names.size > 1) context.reportError(new GraphQLError('A subscription selects one root field only'));
    if ([...names.values()].some((name) => name.startsWith('__'))) {
      context.reportError(new GraphQLError('A subscription selects no field of introspection at its root'));
    }
    return false;
  },
});

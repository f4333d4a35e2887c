import {
  type DocumentNode,
  type FragmentDefinitionNode,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
  valueFromASTUntyped,
} from 'graphql';

/** One selection of a root field; a field selected under two aliases occurs twice. */
export interface RootField {
  type: 'Query' | 'Mutation' | 'Subscription';
  name: string;
}

export interface AnsweredField extends RootField {
  /** The field's name in the result. */
  responseName: string;
}

const typeOf = { query: 'Query', mutation: 'Mutation', subscription: 'Subscription' } as const;

/** Returns the root fields in execution order. Without variables, fields under `@skip` and `@include` are included. */
export function rootFields(
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables?: Readonly<Record<string, unknown>>,
): RootField[] {
  return answeredFields(document, operation, variables).map(({ type, name }) => ({ type, name }));
}

/** Like `rootFields`, but visits each fragment once. */
export function answeredFields(
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables?: Readonly<Record<string, unknown>>,
): AnsweredField[] {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
  }
  const found = new Map<string, AnsweredField>();
  const entered = new Set<string>();
  const visit = ({ selections }: SelectionSetNode): void => {
    for (const selection of selections) {
      if (variables && isLeftOut(selection, variables)) continue;
      if (selection.kind === Kind.INLINE_FRAGMENT) visit(selection.selectionSet);
      else if (selection.kind === Kind.FRAGMENT_SPREAD) {
        const fragment = fragments.get(selection.name.value);
        if (!fragment || entered.has(fragment.name.value)) continue;
        entered.add(fragment.name.value);
        visit(fragment.selectionSet);
      } else if (!selection.name.value.startsWith('__')) {
        const { name, alias = name } = selection;
        const field = { type: typeOf[operation.operation], name: name.value, responseName: alias.value };
        found.set(`${alias.value}:${name.value}`, field);
      }
    }
  };
  visit(operation.selectionSet);
  return [...found.values()];
}

export function withDefaults(
  { variableDefinitions = [] }: OperationDefinitionNode,
  variables: Record<string, unknown> | null | undefined,
): Record<string, unknown> {
  const defaults = variableDefinitions.flatMap(({ variable, defaultValue }) =>
    defaultValue ? [[variable.name.value, valueFromASTUntyped(defaultValue)] as const] : [],
  );
  return { ...Object.fromEntries(defaults), ...variables };
}

function isLeftOut({ directives = [] }: SelectionNode, variables: Readonly<Record<string, unknown>>): boolean {
  return directives.some(({ name, arguments: [condition] = [] }) => {
    const value = condition && valueFromASTUntyped(condition.value, variables);
    return (name.value === 'skip' && value === true) || (name.value === 'include' && value === false);
  });
}

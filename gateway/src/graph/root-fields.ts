import { type DocumentNode, type FragmentDefinitionNode, Kind, type OperationDefinitionNode, type SelectionSetNode } from 'graphql';

/** One occurrence of a root field in an operation. An alias is an occurrence of its own. */
export interface RootField {
  /** `Query`, `Mutation` or `Subscription`. */
  type: 'Query' | 'Mutation' | 'Subscription';
  name: string;
}

const typeOf = { query: 'Query', mutation: 'Mutation', subscription: 'Subscription' } as const;

/** Every root field that an operation selects, fragments expanded. Introspection's own fields are left out. */
export function rootFields(document: DocumentNode, operation: OperationDefinitionNode): RootField[] {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
  }
  const found: RootField[] = [];
  const visit = ({ selections }: SelectionSetNode): void => {
    for (const selection of selections) {
      if (selection.kind === Kind.INLINE_FRAGMENT) visit(selection.selectionSet);
      else if (selection.kind === Kind.FRAGMENT_SPREAD) {
        const fragment = fragments.get(selection.name.value); // the document is valid: it is there and no cycle
        if (fragment) visit(fragment.selectionSet);
      } else if (!selection.name.value.startsWith('__')) {
        found.push({ type: typeOf[operation.operation], name: selection.name.value });
      }
    }
  };
  visit(operation.selectionSet);
  return found;
}

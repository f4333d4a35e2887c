import { objectBytesOf, type SelectedFields } from '@parley/kernel/answer-budget';
import {
  type FieldNode,
  GraphQLIncludeDirective,
  type GraphQLResolveInfo,
  GraphQLSkipDirective,
  getDirectiveValues,
  Kind,
  type SelectionNode,
} from 'graphql';

/** The part of a resolver's `info` that has the field's selection and the field's place in the answer. */
export type FieldInfo = Pick<GraphQLResolveInfo, 'fieldNodes' | 'fragments' | 'variableValues' | 'path'>;

const known = new WeakMap<readonly FieldNode[], SelectedFields>();

/** Returns the fields that a query selects from a resolver's result, or from each object of a list result. */
export function selectedFields({ fieldNodes, fragments, variableValues }: FieldInfo): SelectedFields {
  const cached = known.get(fieldNodes);
  if (cached) return cached; // all elements of a list have the same nodes
  const nameOf = new Map<string, string>(); // field names by alias

  function collect(selections: readonly SelectionNode[]): void {
    for (const selection of selections) {
      if (getDirectiveValues(GraphQLSkipDirective, selection, variableValues)?.['if'] === true) continue;
      if (getDirectiveValues(GraphQLIncludeDirective, selection, variableValues)?.['if'] === false) continue;
      if (selection.kind === Kind.FIELD) nameOf.set((selection.alias ?? selection.name).value, selection.name.value);
      else if (selection.kind === Kind.INLINE_FRAGMENT) collect(selection.selectionSet.selections);
      else collect(fragments[selection.name.value]?.selectionSet.selections ?? []);
    }
  }

  for (const node of fieldNodes) collect(node.selectionSet?.selections ?? []);
  const count = new Map<string, number>();
  for (const name of nameOf.values()) count.set(name, (count.get(name) ?? 0) + 1);
  const fields = { times: (name: string) => count.get(name) ?? 0, objectBytes: objectBytesOf(nameOf.size) };
  known.set(fieldNodes, fields);
  return fields;
}

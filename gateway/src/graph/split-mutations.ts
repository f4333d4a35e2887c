import {
  type DefinitionNode,
  type DocumentNode,
  type FragmentDefinitionNode,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  parse,
  print,
  type SelectionNode,
  separateOperations,
  visit,
} from 'graphql';
import { type FieldRules, ruleOf } from './field-rules.ts';
import { type AnsweredField, answeredFields, type RootField, rootFields, withDefaults } from './root-fields.ts';

export interface RequestPart {
  query: string;
  /** Root fields, without `_entities`. */
  fields: RootField[];
  /** The response name of the part's only field; undefined if the request was not split. */
  responseName?: string;
}

/** Splits a request with several mutations into one request for each mutation, in order, because each mutation may change the caller. */
export function splitMutations(query: string): RequestPart[] {
  const document = parse(query);
  const operation = operationOf(document);
  const whole = { query, fields: fieldsOf(document, operation) };
  if (operation.operation !== 'mutation' || whole.fields.length < 2) return [whole];
  const fragments = document.definitions.filter(isFragment);
  return splitSelections(operation.selectionSet.selections, fragments).map((selection) => {
    const selectionSet = { kind: Kind.SELECTION_SET as const, selections: [selection] };
    const part = withoutUnused({ ...operation, selectionSet }, fragments);
    return { query: print(part), fields: fieldsOf(part, operationOf(part)), responseName: responseNameOf(selection) };
  });
}

export function requestedFields(query: string): RootField[] {
  const document = parse(query);
  return fieldsOf(document, operationOf(document));
}

/** Returns the mutations that run with these variables, in order; none for a query. */
export function runningMutations(query: string, variables: Record<string, unknown> | undefined): AnsweredField[] {
  const document = parse(query);
  const operation = operationOf(document);
  if (operation.operation !== OperationTypeNode.MUTATION) return [];
  return answeredFields(document, operation, withDefaults(operation, variables));
}

/** Reports whether a request may be sent twice: only a query without `@sentOnce` may. */
export function isRetryable(query: string, rules: FieldRules): boolean {
  const document = parse(query);
  const operation = operationOf(document);
  if (operation.operation !== OperationTypeNode.QUERY) return false;
  return fieldsOf(document, operation).every((field) => !ruleOf(rules, field)?.sentOnce);
}

/** Returns the response name of a selection made by `splitSelections`, which may wrap the field in inline fragments. */
function responseNameOf(selection: SelectionNode): string {
  if (selection.kind === Kind.FIELD) return (selection.alias ?? selection.name).value;
  const [only] = selection.kind === Kind.INLINE_FRAGMENT ? selection.selectionSet.selections : [];
  if (!only) throw new Error('A part selects nothing');
  return responseNameOf(only);
}

function splitSelections(selections: readonly SelectionNode[], fragments: FragmentDefinitionNode[]): SelectionNode[] {
  return selections.flatMap((selection): SelectionNode | SelectionNode[] => {
    if (selection.kind === Kind.FIELD) return selection;
    const { selectionSet } =
      selection.kind === Kind.INLINE_FRAGMENT
        ? selection
        : (fragments.find(({ name }) => name.value === selection.name.value) ?? {});
    const { directives = [] } = selection;
    return splitSelections(selectionSet?.selections ?? [], fragments).map((field) => ({
      kind: Kind.INLINE_FRAGMENT,
      directives,
      selectionSet: { kind: Kind.SELECTION_SET, selections: [field] },
    }));
  });
}

/** Removes unused fragments and variables, which validation would refuse. */
function withoutUnused(operation: OperationDefinitionNode, fragments: FragmentDefinitionNode[]): DocumentNode {
  const all: DocumentNode = { kind: Kind.DOCUMENT, definitions: [operation, ...fragments] };
  const [needed = all] = Object.values(separateOperations(all));
  const used = new Set<string>();
  visit(needed, {
    VariableDefinition: () => false,
    Variable: ({ name }) => void used.add(name.value),
  });
  const withUsed = (definition: DefinitionNode): DefinitionNode =>
    definition.kind === Kind.OPERATION_DEFINITION
      ? {
          ...definition,
          variableDefinitions: (definition.variableDefinitions ?? []).filter(({ variable }) =>
            used.has(variable.name.value),
          ),
        }
      : definition;
  return { ...needed, definitions: needed.definitions.map(withUsed) };
}

function fieldsOf(document: DocumentNode, operation: OperationDefinitionNode): RootField[] {
  return rootFields(document, operation).filter(({ name }) => !name.startsWith('_'));
}

function operationOf({ definitions }: DocumentNode): OperationDefinitionNode {
  const operation = definitions.find((definition) => definition.kind === Kind.OPERATION_DEFINITION);
  if (!operation) throw new Error('A subgraph is asked for nothing');
  return operation;
}

function isFragment(definition: DefinitionNode): definition is FragmentDefinitionNode {
  return definition.kind === Kind.FRAGMENT_DEFINITION;
}

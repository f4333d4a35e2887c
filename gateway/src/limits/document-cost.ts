import {
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql';
import { introspectionCosts, maxIntrospection } from './introspection-cost.ts';

export interface DocumentLimits {
  maxDepth: number;
  maxComplexity: number;
  /** Maximum number of selections. Unlike `maxComplexity`, it includes introspection, `__typename` and fragments. */
  maxSelections: number;
}

/** The cost of some selections. Each value is capped at `manyTimes`, so that nested fragments cannot overflow. */
export interface SelectionCost {
  depth: number;
  complexity: number;
  selections: number;
  schemas: number;
  /** Estimated number of schema values below `__schema` and `__type`. */
  introspection: number;
}

const manyTimes = 1_000_000_000;
const nothing: SelectionCost = { depth: 0, complexity: 0, selections: 0, schemas: 0, introspection: 0 };

/**
 * Returns an error for a document that costs too much. Runs before validation, because the cost of validation grows faster than the
 * document, while this check visits each node once.
 */
export function refuseCostly(document: DocumentNode, limits: DocumentLimits): GraphQLError | undefined {
  const costOf = selectionCosts(document);
  for (const definition of document.definitions) {
    const operation = definition.kind === Kind.OPERATION_DEFINITION;
    if (!operation && definition.kind !== Kind.FRAGMENT_DEFINITION) continue;
    const { depth, complexity, selections, schemas, introspection } = costOf(definition);
    // These limits check operations only: a fragment on introspection types is free within an operation, but would cost something when
    // checked alone.
    if (operation && depth > limits.maxDepth) {
      return limitError('DEPTH_LIMIT', `The operation is ${depth} levels deep; at most ${limits.maxDepth} are allowed`);
    }
    if (operation && complexity > limits.maxComplexity) {
      const message = `The operation selects ${complexity} fields; at most ${limits.maxComplexity} are allowed`;
      return limitError('COMPLEXITY_LIMIT', message);
    }
    if (schemas > 1) return limitError('COMPLEXITY_LIMIT', 'The operation selects __schema more than once');
    if (introspection > maxIntrospection) {
      return limitError('COMPLEXITY_LIMIT', 'The operation asks the schema for too much; ask with fewer aliases');
    }
    if (selections > limits.maxSelections) {
      const message = `Introspection and fragments included, the document selects ${selections} times; at most ${limits.maxSelections} are allowed`;
      return limitError('COMPLEXITY_LIMIT', message);
    }
  }
  return undefined;
}

/** Estimates the cost of selections. Recursive fragments cost nothing here, because validation refuses them. */
export function selectionCosts(document: DocumentNode) {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
  }
  const known = new Map<FragmentDefinitionNode, SelectionCost>();
  const introspectionOf = introspectionCosts(fragments);

  function ofFragment(fragment: FragmentDefinitionNode): SelectionCost {
    const found = known.get(fragment);
    if (found) return found;
    known.set(fragment, nothing); // ends recursion
    const cost = ofSelections(fragment.selectionSet);
    known.set(fragment, cost);
    return cost;
  }

  function ofSelections({ selections }: SelectionSetNode): SelectionCost {
    const sum = { ...nothing };
    let typenameIsFree = true;
    const add = (inner: SelectionCost, levels: number) => {
      sum.depth = Math.max(sum.depth, inner.depth + levels);
      sum.complexity = Math.min(manyTimes, sum.complexity + inner.complexity);
      sum.selections = Math.min(manyTimes, sum.selections + inner.selections);
      sum.schemas = Math.min(manyTimes, sum.schemas + inner.schemas);
      sum.introspection = Math.min(manyTimes, sum.introspection + inner.introspection);
    };
    for (const selection of selections) {
      sum.selections += 1;
      if (selection.kind === Kind.INLINE_FRAGMENT) {
        add(ofSelections(selection.selectionSet), 0);
      } else if (selection.kind === Kind.FRAGMENT_SPREAD) {
        const fragment = fragments.get(selection.name.value);
        if (fragment) add(ofFragment(fragment), 0);
      } else {
        const name = selection.name.value;
        const inner = selection.selectionSet ? ofSelections(selection.selectionSet) : nothing;
        const introspection = name === '__schema' || name === '__type';
        add(introspection ? { ...nothing, selections: inner.selections } : inner, introspection ? 0 : 1);
        if (name === '__schema') sum.schemas += 1;
        if (introspection && selection.selectionSet) sum.introspection += introspectionOf(selection.selectionSet);
        if (name === '__typename' && typenameIsFree) typenameIsFree = false;
        else if (!introspection) sum.complexity += 1;
      }
    }
    return sum;
  }

  return (definition: OperationDefinitionNode | FragmentDefinitionNode): SelectionCost =>
    definition.kind === Kind.FRAGMENT_DEFINITION ? ofFragment(definition) : ofSelections(definition.selectionSet);
}

function limitError(code: 'DEPTH_LIMIT' | 'COMPLEXITY_LIMIT', message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code, statusCode: 400 } });
}

import { badRequest } from '@parley/chassis/errors';
import { graphError } from '@parley/chassis/graph/graph-errors';
import {
  type DocumentNode,
  getOperationAST,
  GraphQLError,
  type GraphQLSchema,
  type OperationDefinitionNode,
  parse,
  validate,
} from 'graphql';
import { LRUCache } from 'lru-cache';

export interface SubscriptionDocument {
  document: DocumentNode;
  operation: OperationDefinitionNode;
}

/** Parses and validates what sockets ask for, once per text. Sockets carry subscriptions only: anything else is refused. */
export function subscriptionDocuments(schema: () => GraphQLSchema, maxTokens: number) {
  const parsed = new LRUCache<string, SubscriptionDocument>({ max: 1_000, maxSize: 4_000_000, sizeCalculation: (_, key) => key.length });

  /** @returns the document, or the errors that the client is to see. */
  return (query: string, operationName: string | null | undefined): SubscriptionDocument | GraphQLError[] => {
    const key = `${operationName ?? ''}\n${query}`;
    const known = parsed.get(key);
    if (known) return known;
    let document: DocumentNode;
    try {
      document = parse(query, { maxTokens });
    } catch (error) {
      if (error instanceof GraphQLError) return [withCode(error, 'GRAPHQL_PARSE_FAILED')];
      throw error;
    }
    const problems = validate(schema(), document);
    if (problems.length > 0) return problems.map((problem) => withCode(problem, 'GRAPHQL_VALIDATION_FAILED'));
    const operation = getOperationAST(document, operationName);
    if (!operation) return [graphError(badRequest('The document holds no such operation'))];
    if (operation.operation !== 'subscription') {
      return [graphError(badRequest('This socket carries subscriptions only; send queries and mutations by POST'))];
    }
    const entry = { document, operation };
    parsed.set(key, entry);
    return entry;
  };
}

function withCode(error: GraphQLError, code: string): GraphQLError {
  const { nodes = null, source = null, positions = null } = error;
  return new GraphQLError(error.message, { nodes, source, positions, extensions: { code, statusCode: 400 } });
}

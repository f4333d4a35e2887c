import { badRequest } from '@parley/chassis/errors';
import { graphError } from '@parley/chassis/graph/graph-errors';
import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  getVariableValues,
  type OperationDefinitionNode,
  parse,
  validate,
} from 'graphql';
import { LRUCache } from 'lru-cache';

export interface SubscriptionDocument {
  document: DocumentNode;
  operation: OperationDefinitionNode;
}

export interface SubscriptionDocumentOptions {
  /** Tokens of a document that the lexer reads before it refuses. */
  maxTokens: number;
  /** Whether an error may name what the client might have meant: with introspection off that would give the schema away. */
  hints: boolean;
}

/**
 * Parses and validates what sockets ask for, once per text, and its variables each time. Sockets carry subscriptions only:
 * anything else is refused.
 */
export function subscriptionDocuments(schema: () => GraphQLSchema, { maxTokens, hints }: SubscriptionDocumentOptions) {
  const parsed = new LRUCache<string, SubscriptionDocument>({
    max: 1_000,
    maxSize: 4_000_000,
    sizeCalculation: (_, key) => key.length,
  });

  function read(query: string, operationName: string | null | undefined): SubscriptionDocument | GraphQLError[] {
    const key = `${operationName ?? ''}\n${query}`;
    const known = parsed.get(key);
    if (known) return known;
    let document: DocumentNode;
    try {
      document = parse(query, { maxTokens });
    } catch (error) {
      if (error instanceof GraphQLError) return [withCode(error, 'GRAPHQL_PARSE_FAILED', hints)];
      throw error;
    }
    const problems = validate(schema(), document);
    if (problems.length > 0) return problems.map((problem) => withCode(problem, 'GRAPHQL_VALIDATION_FAILED', hints));
    const operation = getOperationAST(document, operationName);
    if (!operation) return [graphError(badRequest('The document holds no such operation'))];
    if (operation.operation !== 'subscription') {
      return [graphError(badRequest('This socket carries subscriptions only; send queries and mutations by POST'))];
    }
    const entry = { document, operation };
    parsed.set(key, entry);
    return entry;
  }

  /** @returns the document, or the errors that the client is to see. */
  return (
    query: string,
    operationName: string | null | undefined,
    variables: Record<string, unknown> | null | undefined,
  ): SubscriptionDocument | GraphQLError[] => {
    const found = read(query, operationName);
    if (Array.isArray(found)) return found;
    const definitions = found.operation.variableDefinitions ?? [];
    const { errors } = getVariableValues(schema(), definitions, variables ?? {}, { maxErrors: 10 });
    return errors ? errors.map((error) => withCode(error, 'BAD_USER_INPUT', hints)) : found;
  };
}

function withCode({ message, nodes, source, positions }: GraphQLError, code: string, hints: boolean): GraphQLError {
  return new GraphQLError(hints ? message : message.replace(/ ?Did you mean.+$/s, ''), {
    nodes: nodes ?? null,
    source: source ?? null,
    positions: positions ?? null,
    extensions: { code, statusCode: 400 },
  });
}

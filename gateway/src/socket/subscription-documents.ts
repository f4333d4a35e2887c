import { graphError } from '@parley/graph/graph-errors';
import { badRequest } from '@parley/kernel/errors';
import { type DocumentNode, type GraphQLError, getOperationAST, type OperationDefinitionNode } from 'graphql';
import type { Documents } from '../graph/documents.ts';
import { rootFields, withDefaults } from '../graph/root-fields.ts';
import { refusedInput, refusedVariables } from '../limits/input-values.ts';

export interface SubscriptionDocument {
  document: DocumentNode;
  operation: OperationDefinitionNode;
}

/**
 * Reads the document of a subscription, with the same rules as for documents over HTTP. @returns the subscription, or the errors for the
 * client.
 */
export function readSubscription(
  documents: Documents,
  query: string,
  operationName: string | null | undefined,
  variables: Record<string, unknown> | null | undefined,
): SubscriptionDocument | GraphQLError[] {
  const read = documents.read(query);
  if (Array.isArray(read)) return read;
  const operation = getOperationAST(read.document, operationName);
  if (!operation) return [graphError(badRequest('The document holds no such operation'))];
  if (operation.operation !== 'subscription') {
    return [graphError(badRequest('This socket carries subscriptions only; send queries and mutations by POST'))];
  }
  const refused = [...read.refusedLiterals, ...refusedVariables(read.document, variables)];
  if (refused.length > 0) return [graphError(refusedInput(refused))];
  const wrong = documents.checkVariables(operation, variables);
  if (wrong.length > 0) return wrong;
  if (rootFields(read.document, operation, withDefaults(operation, variables)).length === 0) {
    return [graphError(badRequest('The subscription selects nothing with these variables'))];
  }
  return { document: read.document, operation };
}

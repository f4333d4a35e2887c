import {
  type DocumentNode,
  execute,
  GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
  getOperationAST,
  NoSchemaIntrospectionCustomRule,
  parse,
  specifiedRules,
  validate,
} from 'graphql';
import { LRUCache } from 'lru-cache';

/** The body of a request, as GraphQL over HTTP defines it. */
export interface GraphRequest {
  query: string;
  variables?: Record<string, unknown> | null;
  operationName?: string | null;
}

export interface GraphResult {
  data?: Record<string, unknown> | null;
  errors?: GraphQLFormattedError[];
  /** The root fields of the operation; empty if the operation is invalid. */
  fields: string[];
}

export interface OperationsOptions {
  schema: GraphQLSchema;
  /** Formats an error for clients. `formatted.extensions.code` names the problem of the request; errors of resolvers have no code. */
  format(formatted: GraphQLFormattedError, error: GraphQLError): GraphQLFormattedError;
}

type Problem = GraphQLError & { readonly extensions: { code: string } };

const rules = [...specifiedRules, NoSchemaIntrospectionCustomRule];
/** Maximum memory of cached documents, in bytes. Gateways send the same few texts repeatedly. */
const maxKnownBytes = 32_000_000;
/** The measured memory of a parsed document, in bytes per token. */
const bytesPerToken = 400;

/** Runs operations of a schema. Each text is parsed and validated once. */
export function operations({ schema, format }: OperationsOptions) {
  const documents = new LRUCache<string, DocumentNode>({
    maxSize: maxKnownBytes,
    sizeCalculation: (document, query) => 2 * query.length + bytesPerToken * (document.tokenCount ?? query.length),
  });

  function read(query: string): DocumentNode | Problem[] {
    const known = documents.get(query);
    if (known) return known;
    const document = readNew(query);
    // Gateways send only valid documents, so an invalid document is not cached.
    if (!Array.isArray(document)) documents.set(query, document);
    return document;
  }

  function readNew(query: string): DocumentNode | Problem[] {
    try {
      const document = parse(query);
      const problems = validate(schema, document, rules);
      return problems.length > 0 ? problems.map((each) => problem(each, 'GRAPHQL_VALIDATION_FAILED')) : document;
    } catch (error) {
      if (error instanceof GraphQLError) return [problem(error, 'GRAPHQL_PARSE_FAILED')];
      // A RangeError means that the stack is full.
      if (error instanceof RangeError) {
        return [problem(new GraphQLError('The document is nested too deeply'), 'GRAPHQL_PARSE_FAILED')];
      }
      throw error;
    }
  }

  const formatted = (errors: readonly GraphQLError[]) => errors.map((error) => format(error.toJSON(), error));

  return async ({ query, variables, operationName }: GraphRequest, contextValue: unknown): Promise<GraphResult> => {
    const document = read(query);
    if (Array.isArray(document)) return { errors: formatted(document), fields: [] };
    const operation = getOperationAST(document, operationName);
    // Gateways read subscriptions through gRPC.
    if (!operation || operation.operation === 'subscription') {
      const error = new GraphQLError(
        'The document has no query or mutation of this name, or several and none is named',
      );
      return { errors: formatted([problem(error, 'OPERATION_RESOLUTION_FAILURE')]), fields: [] };
    }
    const fields = operation.selectionSet.selections.flatMap((each) => (each.kind === 'Field' ? each.name.value : []));
    const variableValues = variables ?? {};
    const { data, errors } = await execute({ schema, document, contextValue, variableValues, operationName });
    // Without data nothing was executed: the variables are invalid.
    const wrong = data === undefined ? errors?.map((each) => problem(each, 'BAD_USER_INPUT')) : errors;
    return { ...(data !== undefined && { data }), ...(wrong && { errors: formatted(wrong) }), fields };
  };
}

function problem(error: GraphQLError, code: string): Problem {
  return Object.assign(error, { extensions: { ...error.extensions, code } });
}

import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  NoSchemaIntrospectionCustomRule,
  type OperationDefinitionNode,
  parse,
  SingleFieldSubscriptionsRule,
  specifiedRules,
  validate,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { type DocumentLimits, refuseCostly } from '../limits/document-cost.ts';
import { type RefusedValue, refusedLiterals } from '../limits/input-values.ts';
import { sanitizedRules } from './sanitized-rules.ts';
import { singleRootField } from './single-root-field.ts';
import { variableErrors } from './variable-errors.ts';

export interface ReadDocument {
  document: DocumentNode;
  refusedLiterals: RefusedValue[];
}

export interface DocumentsOptions extends DocumentLimits {
  schema: () => GraphQLSchema;
  /** The lexer stops with an error at this number of tokens. */
  maxTokens: number;
  /** Whether clients may read the schema. If they may not, errors contain no suggestions from the schema. */
  introspection: boolean;
}

export interface Documents {
  /**
   * Parses a document, checks its cost, then validates it. Caches the result by text. @returns the document; the errors for the client if
   * there are any.
   */
  read(text: string): ReadDocument | GraphQLError[];
  checkVariables(
    operation: OperationDefinitionNode,
    variables: Readonly<Record<string, unknown>> | null | undefined,
  ): GraphQLError[];
}

/** Maximum number of reported errors. Validation stops after this number, because finding each error costs time. */
const maxErrors = 20;

/** Maximum length of an error message. Messages may quote the document, which can be megabytes. */
const maxMessageLength = 500;

const bytesPerToken = 400;

const rememberedBytes = 64_000_000;

export function createDocuments({ schema, maxTokens, introspection, ...limits }: DocumentsOptions): Documents {
  const known = new LRUCache<string, ReadDocument>({
    maxSize: rememberedBytes,
    sizeCalculation: ({ document }, text) => 2 * text.length + bytesPerToken * (document.tokenCount ?? maxTokens),
  });
  const rules = [
    ...specifiedRules.filter((rule) => rule !== SingleFieldSubscriptionsRule),
    singleRootField,
    ...(introspection ? [] : [NoSchemaIntrospectionCustomRule]),
  ];

  function clientError(error: GraphQLError, code: string): GraphQLError {
    const message = introspection ? error.message : error.message.replace(/ ?Did you mean.+$/s, '');
    return new GraphQLError(message.length > maxMessageLength ? `${message.slice(0, maxMessageLength)}…` : message, {
      nodes: error.nodes ?? null,
      source: error.source ?? null,
      positions: error.positions ?? null,
      extensions: { code, statusCode: 400 },
    });
  }

  function parsed(text: string): DocumentNode | GraphQLError {
    try {
      return parse(text, { maxTokens });
    } catch (error) {
      if (error instanceof GraphQLError) return clientError(redact(error), 'GRAPHQL_PARSE_FAILED');
      // Deep nesting can overflow the parser's stack when the token limit is set very high.
      if (error instanceof RangeError) {
        return clientError(new GraphQLError('The document is nested too deeply'), 'GRAPHQL_PARSE_FAILED');
      }
      throw error;
    }
  }

  function problemsOf(document: DocumentNode): readonly GraphQLError[] {
    try {
      return validate(schema(), document, sanitizedRules(rules), { maxErrors });
    } catch (error) {
      // A validation rule may throw on a part of the document that another rule would have refused.
      if (error instanceof GraphQLError) return [error];
      throw error;
    }
  }

  return {
    read(text) {
      const found = known.get(text);
      if (found) return found;
      const document = parsed(text);
      if (document instanceof GraphQLError) return [document];
      const tooCostly = refuseCostly(document, limits);
      if (tooCostly) return [tooCostly];
      const problems = problemsOf(document);
      if (problems.length > 0) return problems.map((problem) => clientError(problem, 'GRAPHQL_VALIDATION_FAILED'));
      const read = { document, refusedLiterals: refusedLiterals(document) };
      known.set(text, read);
      return read;
    },
    checkVariables(operation, variables) {
      const wrong = variableErrors(schema(), operation, variables ?? {}, maxErrors);
      return wrong.map((error) => clientError(error, 'BAD_USER_INPUT'));
    },
  };
}

/** Reduces a syntax error to its position and the kind of the unexpected token, because the quoted text may be part of a secret. */
function redact(error: GraphQLError): GraphQLError {
  const message = error.message
    .replace(/^(Syntax Error: [^:"]+?)(?: but got)?: .*$/s, '$1.')
    .replace(/\b(Name|Int|Float|String|BlockString|Comment|variable) ".*"/s, '$1');
  const { source, positions } = error;
  return new GraphQLError(message, { source: source ?? null, positions: positions ?? null });
}

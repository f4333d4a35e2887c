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

/** A document that may run, as far as its text tells. */
export interface ReadDocument {
  document: DocumentNode;
  /** Values in it that no operation takes. */
  refusedLiterals: RefusedValue[];
}

export interface DocumentsOptions extends DocumentLimits {
  schema: () => GraphQLSchema;
  /** Tokens of a document that the lexer reads before it refuses. */
  maxTokens: number;
  /** Whether clients may read the schema. Without it no error names what a client might have meant either. */
  introspection: boolean;
}

/** What clients send to be run, of HTTP and sockets alike. */
export interface Documents {
  /**
   * Parses a text, weighs what it selects, and only then validates it; once a text.
   * @returns the document, or the errors that the client is to see.
   */
  read(text: string): ReadDocument | GraphQLError[];
  /** What of an operation's variables is not of its type. */
  checkVariables(
    operation: OperationDefinitionNode,
    variables: Readonly<Record<string, unknown>> | null | undefined,
  ): GraphQLError[];
}

/** Errors that one answer tells at most: finding each costs, and after a few nobody reads on. */
const maxErrors = 20;

/** Characters of one message: some quote the document, which may be megabytes. */
const maxMessageLength = 500;

/** About what a document takes in memory for each of its tokens, in bytes. */
const bytesPerToken = 400;

/** What all remembered documents may take together, in bytes. */
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
      // Nesting that the lexer's limit should have ended, had that not been set so high.
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
      // Rules look at parts of a document that other rules would have refused.
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

/**
 * A syntax error quotes what it met: a token, a character, a piece of an escape. Each may be part of a secret, a name as well: of one
 * without quotes. What kind of token it is and where it stands is told.
 */
function redact(error: GraphQLError): GraphQLError {
  const message = error.message
    .replace(/^(Syntax Error: [^:"]+?)(?: but got)?: .*$/s, '$1.')
    .replace(/\b(Name|Int|Float|String|BlockString|Comment|variable) ".*"/s, '$1');
  const { source, positions } = error;
  return new GraphQLError(message, { source: source ?? null, positions: positions ?? null });
}

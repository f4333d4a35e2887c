import { type ApolloServerPlugin, HeaderMap } from '@apollo/server';
import {
  type DocumentNode,
  type FieldNode,
  type FormattedExecutionResult,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  print,
  separateOperations,
} from 'graphql';
import { type FieldRules, ruleOf } from './field-rules.ts';
import type { GatewayContext } from './gateway-context.ts';
import type { SubgraphSource } from './subgraph-source.ts';

export interface PassedAnswersOptions {
  rules: FieldRules;
  sourceOf: (query: string) => SubgraphSource | undefined;
  /** Answers up to this size are stored for an `Idempotency-Key`, so they are parsed rather than passed on. */
  maxKeptBytes: number;
}

/** Raw subgraph responses, keyed by their placeholder `data` object. */
const passed = new WeakMap<object, Buffer>();

function bytesOf({ data }: FormattedExecutionResult): Buffer | undefined {
  return data ? passed.get(data) : undefined;
}

export function isPassed(answer: FormattedExecutionResult): boolean {
  return bytesOf(answer) !== undefined;
}

/** Serializes answers with `write`. The answers of `passedAnswers` are already bytes and stay as they are. */
export function passing(write: (answer: object) => string): (answer: FormattedExecutionResult) => string {
  return (answer) => {
    const bytes = bytesOf(answer);
    // Apollo Server passes the serialized answer to `response.send`, which also accepts bytes. Converting the bytes to text would dominate
    // the cost.
    return bytes ? (bytes as unknown as string) : write(answer);
  };
}

/**
 * Creates the plugin that passes the response of a `@passedThrough` query on as raw bytes. Register the plugin after every plugin that may
 * refuse a request. A response that holds more than `data` goes through normal execution, which reuses it instead of calling the subgraph
 * again.
 */
export function passedAnswers({
  rules,
  sourceOf,
  maxKeptBytes,
}: PassedAnswersOptions): ApolloServerPlugin<GatewayContext> {
  const queries = new WeakMap<OperationDefinitionNode, string>();

  function queryOf(document: DocumentNode, operation: OperationDefinitionNode): string {
    const known =
      queries.get(operation) ?? print(separateOperations(document)[operation.name?.value ?? ''] ?? document);
    queries.set(operation, known);
    return known;
  }

  return {
    async requestDidStart() {
      return {
        async responseForOperation({ contextValue, document, operation, request }) {
          const field = onlyField(operation);
          if (!field || !ruleOf(rules, { type: 'Query', name: field.name.value })?.passedThrough) return null;
          const source = sourceOf(field.name.value);
          if (!source) return null;
          contextValue.received = source.receive(
            { query: queryOf(document, operation), variables: givenVariables(operation, request.variables) },
            contextValue,
          );
          const bytes = await contextValue.received.catch(() => undefined); // execution throws this error
          if (!bytes || !holdsDataOnly(bytes)) return null;
          if (contextValue.heldKey && bytes.length <= maxKeptBytes) return null;
          const data = {};
          passed.set(data, bytes);
          return { http: { headers: new HeaderMap() }, body: { kind: 'single', singleResult: { data } } };
        },
      };
    },
  };
}

/** Returns the single field of a query; undefined if the selection is a fragment or has directives. */
function onlyField({ operation, selectionSet }: OperationDefinitionNode): FieldNode | undefined {
  const [only, ...more] = selectionSet.selections;
  if (operation !== OperationTypeNode.QUERY || more.length > 0 || only?.kind !== Kind.FIELD) return undefined;
  return only.directives?.length ? undefined : only;
}

function givenVariables(
  { variableDefinitions = [] }: OperationDefinitionNode,
  variables: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const names = variableDefinitions.map(({ variable }) => variable.name.value);
  return Object.fromEntries(
    names.filter((name) => Object.hasOwn(variables, name)).map((name) => [name, variables[name]]),
  );
}

const dataFirst = Buffer.from('{"data":{');
const ends = ['}}', '}}\n'].map((end) => Buffer.from(end));

/** Reports whether a result has `data` only. A string value cannot contain the quoted names below, because its quotes are escaped. */
function holdsDataOnly(bytes: Buffer): boolean {
  const isWhole =
    dataFirst.equals(bytes.subarray(0, dataFirst.length)) &&
    ends.some((end) => end.equals(bytes.subarray(-end.length)));
  return isWhole && !bytes.includes('"errors"') && !bytes.includes('"extensions"');
}

import {
  createSourceEventStream,
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  execute,
  type GraphQLSchema,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';

type Result = ReturnType<typeof execute>;

/** Maximum number of cached results per event. Further selections are executed for each reader. */
const maxResults = 16;

/** Executes each selection once per event. The root value identifies an event, so nobody may modify it. */
export function sharedResults(): (
  args: ExecutionArgs,
) => Promise<AsyncIterableIterator<ExecutionResult> | ExecutionResult> {
  const executed = new WeakMap<object, Map<string, Result>>();
  const documents = new WeakMap<DocumentNode, { id: number; variables: string[] }>();
  let newest = 0;

  function selectionOf({ schema, document, operationName, variableValues }: ExecutionArgs): string {
    const { id, variables } = documents.get(document) ?? {
      id: ++newest,
      variables: selectionVariables(document, schema),
    };
    documents.set(document, { id, variables });
    return JSON.stringify([id, operationName, variables.map((name) => given(name, variableValues))]);
  }

  function resultOf(args: ExecutionArgs, selection: string, rootValue: unknown): Result {
    const run = () => execute({ ...args, rootValue });
    if (typeof rootValue !== 'object' || rootValue === null) return run();
    const results = executed.get(rootValue) ?? new Map<string, Result>();
    executed.set(rootValue, results);
    const known = results.get(selection);
    if (known) return known;
    const result = run();
    if (results.size < maxResults) results.set(selection, result);
    return result;
  }

  return async function subscribe(args) {
    const events = await createSourceEventStream(args);
    if (!(Symbol.asyncIterator in events)) return events;
    const selection = selectionOf(args);
    const iterator = events[Symbol.asyncIterator]();
    const shared: AsyncIterableIterator<ExecutionResult> = {
      async next() {
        const { done, value } = await iterator.next();
        return done ? { done: true, value: undefined } : { done: false, value: await resultOf(args, selection, value) };
      },
      async return() {
        await iterator.return?.();
        return { done: true, value: undefined };
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    };
    return shared;
  };
}

/**
 * Returns a variable's value as a list. The list is empty if the variable is omitted, because an omitted variable gets its default value,
 * while null remains null.
 */
function given(name: string, values: ExecutionArgs['variableValues']): unknown[] {
  return values && Object.hasOwn(values, name) ? [values[name]] : [];
}

/** Lists the variables used outside the arguments of the subscription field. Those arguments select events rather than their content. */
function selectionVariables(document: DocumentNode, schema: GraphQLSchema): string[] {
  const types = new TypeInfo(schema);
  const found = new Set<string>();
  visit(
    document,
    visitWithTypeInfo(types, {
      VariableDefinition: () => false,
      Argument: () =>
        !types.getDirective() && types.getParentType() === schema.getSubscriptionType() ? false : undefined,
      Variable: ({ name }) => void found.add(name.value),
    }),
  );
  return [...found];
}

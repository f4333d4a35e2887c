import { createSourceEventStream, type DocumentNode, type ExecutionArgs, type ExecutionResult, execute } from 'graphql';

type Result = ReturnType<typeof execute>;

/**
 * Subscribes as GraphQL says, and executes a selection of an event once for all who are handed the same event and ask for the same: the
 * result depends on the event, the document and the variables alone, and nobody may change it. An event is known by its
 * root value, so sources hand out the same object where it is the same event.
 */
export function sharedResults(): (
  args: ExecutionArgs,
) => Promise<AsyncIterableIterator<ExecutionResult> | ExecutionResult> {
  const executed = new WeakMap<object, Map<string, Result>>();
  const documents = new WeakMap<DocumentNode, number>();
  let newest = 0;

  function selectionOf({ document, operationName, variableValues }: ExecutionArgs): string {
    const id = documents.get(document) ?? ++newest;
    documents.set(document, id);
    return JSON.stringify([id, operationName, variableValues]);
  }

  function resultOf(args: ExecutionArgs, selection: string, rootValue: unknown): Result {
    const run = () => execute({ ...args, rootValue });
    if (typeof rootValue !== 'object' || rootValue === null) return run();
    const results = executed.get(rootValue) ?? new Map<string, Result>();
    executed.set(rootValue, results);
    const known = results.get(selection);
    if (known) return known;
    const result = run();
    results.set(selection, result);
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

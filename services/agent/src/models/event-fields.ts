import { isJsonObject } from '@parley/kernel/json';

export type Fields = Record<string, unknown>;

/** Converts an event to a shape that the SDK knows. Returns undefined if the SDK does not know the event. */
export type EventAdapter = (event: Fields) => Fields | undefined;

export function stringIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function objectsIn(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** Returns the named fields whose values are strings; drops all others. */
export function textsAt(given: Fields, ...names: string[]): Fields {
  return Object.fromEntries(names.flatMap((name) => (typeof given[name] === 'string' ? [[name, given[name]]] : [])));
}

const tokenCount = /tokens?(?:count)?$/iu;

/**
 * Returns the numbers of a usage object, nested ones included. Drops all other values. A token count that is itself an object is dropped
 * too.
 */
export function figuresIn(usage: unknown): Fields | undefined {
  if (!isJsonObject(usage)) return undefined;
  const entries = Object.entries(usage).map(([name, value]) => [
    name,
    typeof value === 'number' && Number.isFinite(value) ? value : tokenCount.test(name) ? undefined : figuresIn(value),
  ]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** Returns an error in the shape that all SDKs of OpenAI's format read. */
export function errorFields(error: unknown): Fields {
  if (!isJsonObject(error)) return { message: stringIn(error) ?? '' };
  const { code } = error;
  return {
    message: stringIn(error['message']) ?? '',
    ...textsAt(error, 'type', 'param'),
    ...((typeof code === 'string' || typeof code === 'number') && { code }),
  };
}

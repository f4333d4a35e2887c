import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { eventually } from '@parley/testing/eventually';
import type { ExecutionContext } from 'ava';
import {
  buildASTSchema,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLNamedType,
  type GraphQLType,
  getNamedType,
  getOperationAST,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isLeafType,
  isObjectType,
  Kind,
  parse,
  print,
} from 'graphql';
import { type ApiExample, examplesFile, readApiErrors } from './api-sources.ts';
import type { Client } from './client.ts';
import { servedOperations } from './operations.ts';
import { Subscription } from './sockets.ts';

const supergraph = new URL('../../../gateway/supergraph.graphql', import.meta.url);

/** Sends the operations of one subgraph, and compares their requests and responses with the subgraph's file of examples. */
export function recordExamples(subgraph: string) {
  const examples: ApiExample[] = [];
  const shown = new Map<string | number, string | number>();
  const listedErrors = readApiErrors();
  const unlisted: string[] = [];

  /** Replaces `actual`, a value of this run, with `instead` in all examples, even inside longer texts. */
  function show(actual: string | number | undefined, instead: string | number): void {
    if (actual !== undefined) shown.set(actual, instead);
  }

  /**
   * Sends an operation that has one field and must succeed. Records the operation as that field's example.
   * @param maxDepth if given, deeper levels of the value are omitted from the example, and lists of numbers are shortened to three
   * @returns the value of the field
   */
  async function send<T>(client: Client, query: string, variables: object = {}, maxDepth = Infinity): Promise<T> {
    const { data, errors } = await client.send(query, variables);
    if (errors || !data) throw new Error(`refused: ${JSON.stringify(errors)}\n${query}`);
    const operation = operationOf(query);
    examples.push({ operation, query, ...given(variables), answer: { data: shortened(data, maxDepth) } });
    return data[operation] as T;
  }

  /**
   * Subscribes, calls `act`, waits for an event for which `isLast` returns true, and records the events as the field's example.
   * @returns all events
   */
  async function subscribe<T>(
    t: ExecutionContext,
    client: Client,
    {
      query,
      variables,
      act,
      isLast,
    }: { query: string; variables: Record<string, unknown>; act?: () => Promise<unknown>; isLast(event: T): boolean },
  ): Promise<T[]> {
    const operation = operationOf(query);
    const payloads: Record<string, T>[] = [];
    const next = (data: Record<string, T>) => payloads.push(data);
    const subscription = new Subscription<Record<string, T>>({
      url: client.url,
      credentials: client.credentials(),
      query,
      variables,
      next,
    });
    t.teardown(() => subscription.close());
    const events = () => payloads.flatMap((data) => data[operation] ?? []);
    const has = (what: string, check: () => unknown) =>
      eventually(what, () => {
        if (subscription.errors) throw new Error(`refused: ${JSON.stringify(subscription.errors)}\n${query}`);
        return check();
      });
    if (act) {
      await has('the first event', () => payloads.length > 0);
      await act();
    }
    await has('the last event', () => events().some(isLast));
    examples.push({ operation, query, ...given(variables), events: payloads.map((data) => ({ data })) });
    return events();
  }

  /** Sends an operation that must be refused with an error that gateway/api/errors.json lists for the operation. */
  async function refused(client: Client, query: string, variables: object = {}): Promise<void> {
    const { code, reason } = (await client.refusal(query, variables)).extensions;
    const listed = listedErrors.get(operationOf(query)) ?? [];
    if (listed.some((each) => each.code === code && each.reason === reason)) return;
    unlisted.push([operationOf(query), code, reason].filter(Boolean).join(' '));
  }

  /**
   * Asserts that each operation has exactly one example, and that all examples equal those in the file. If the file is missing, writes it
   * and fails.
   */
  function compare(t: ExecutionContext): void {
    const operations = servedOperations().filter(({ service }) => service === subgraph.toUpperCase());
    const names = operations.map(({ name }) => name);
    t.deepEqual(examples.map(({ operation }) => operation).toSorted(), names.toSorted(), 'one example of each');
    t.deepEqual(unlisted, [], 'errors that gateway/api/errors.json lists');
    const replace = replacer(shown);
    const found = names.flatMap((name) => examples.filter(({ operation }) => operation === name)).map(replace);
    const file = examplesFile(subgraph);
    if (!existsSync(file)) {
      mkdirSync(new URL('.', file), { recursive: true });
      writeFileSync(file, `${JSON.stringify(found, null, 2)}\n`);
      t.fail(`${file.pathname} was missing and has been written; scripts/generate puts it into the pages`);
    }
    const expected: ApiExample[] = JSON.parse(readFileSync(file, 'utf8'));
    for (const [n, example] of found.entries())
      t.deepEqual(example, expected[n] as ApiExample, `to record anew, remove ${file.pathname} and run this test`);
    t.is(found.length, expected.length);
  }

  return { send, subscribe, refused, show, compare };
}

const given = (variables: object) =>
  Object.keys(variables).length > 0 ? { variables: variables as Record<string, unknown> } : {};

/** Returns a value without the parts that are nested deeper than `levels`. */
function shortened(value: unknown, levels: number): unknown {
  if (levels === Infinity || typeof value !== 'object' || value === null) return value;
  if (levels === 0) return '…';
  if (Array.isArray(value) && typeof value[0] === 'number') return [...value.slice(0, 3), '…'];
  if (Array.isArray(value)) return value.map((each) => shortened(each, levels - 1));
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shortened(each, levels - 1)]));
}

/** Returns the name of the only field of an operation. */
function operationOf(query: string): string {
  const [field] = getOperationAST(parse(query))?.selectionSet.selections ?? [];
  if (field?.kind !== Kind.FIELD) throw new Error(`No field in ${query}`);
  return field.name.value;
}

/**
 * For each kind of object, the number at which its ids begin in examples. The kind of an id is the first one here whose name is part of the
 * id's field name or, for a field called id, of the object's type name. So a name that contains another name must come before that name.
 */
const firstIds: Record<string, number> = {
  externalsyncdelivery: 3,
  evaluation: 5,
  export: 2,
  outboundcall: 61,
  auditlogdto: 9,
  auditable: 12,
  workflowrun: 31,
  workflow: 8,
  knowledgebase: 3,
  document: 25,
  connector: 6,
  action: 14,
  message: 201,
  session: 40,
  agent: 12,
  tenant: 4,
  user: 4,
  avatarconfig: 4,
};
const sameKind: Record<string, string> = { auditable: 'agent' };

/** Fixed values for fields whose values differ between runs. */
const fixedValues: Record<string, unknown> = {
  accessToken: 'eyJhbGciOiJFUzI1NiIs…',
  refreshToken: 'prt_6fYw…',
  avatarToken: 'v1.session.k1.…',
  'GenerateApiKeyResult.key': 'sk_Qm3v…',
  referralCode: 'K7Q2M9XA',
  durationMs: 240,
  latencyMs: 480,
  durationSeconds: 95,
};

const moment = '2026-03-02T09:30:00.000Z';
const fixedTexts: [pattern: RegExp, instead: string][] = [
  [/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/gu, '0b9f1c7e-3a52-4d86-9c41-7e2d5a60b318'],
  [/\s*\[model 127\.0\.0\.1:\d+\]\s*/gu, ''],
];

/**
 * Returns a function that replaces values that differ between runs: ids, times, secrets, and the values in `shown`. Ids become numbers that
 * are counted for each kind of object.
 */
function replacer(shown: ReadonlyMap<string | number, string | number>) {
  const schema = buildASTSchema(parse(readFileSync(supergraph, 'utf8')), { assumeValidSDL: true });
  const ids = new Map<string, number>();
  const eventIds = new Map<string, string>();
  const texts = [...shown]
    .filter((pair): pair is [string, string | number] => typeof pair[0] === 'string')
    .toSorted(([one], [other]) => other.length - one.length);

  return ({ operation, query, variables, answer, events }: ApiExample): ApiExample => ({
    operation,
    query: textOf(print(parse(query))),
    ...(variables && { variables: variablesOf(query, variables) }),
    ...(answer !== undefined && { answer: payload(query, answer) }),
    ...(events && { events: events.map((event) => payload(query, event)) }),
  });

  function payload(query: string, body: unknown) {
    const operation = getOperationAST(parse(query));
    return { data: valueOf((body as { data: unknown }).data, operation && schema.getRootType(operation.operation)) };
  }

  function variablesOf(query: string, variables: Record<string, unknown>) {
    const operation = getOperationAST(parse(query));
    const root = operation && schema.getRootType(operation.operation);
    const field = root?.getFields()[operationOf(query)];
    const entries = Object.entries(variables).map(([name, value]) => {
      const argument = field?.args.find((each) => each.name === name);
      return [name, argument ? fieldValue(argument, field?.name ?? '', value) : anyValue(value)];
    });
    return Object.fromEntries(entries);
  }

  function valueOf(value: unknown, type: GraphQLNamedType | null | undefined): unknown {
    if (Array.isArray(value)) return value.map((each) => valueOf(each, type));
    if (typeof value !== 'object' || value === null || !type) return anyValue(value);
    const own = isInterfaceType(type) ? schema.getType(String((value as { __typename?: string }).__typename)) : type;
    const fields: Record<string, GraphQLField<unknown, unknown> | GraphQLInputField> =
      isObjectType(own) || isInputObjectType(own) ? own.getFields() : {};
    const entries = Object.entries(value).map(([name, each]) => {
      const field = fields[name];
      return [name, field ? fieldValue(field, own?.name ?? '', each) : anyValue(each)];
    });
    return Object.fromEntries(entries);
  }

  /**
   * Returns the value that replaces the value of a field or an argument.
   * @param owner the type or operation to which the field or argument belongs
   */
  function fieldValue(field: { name: string; type: GraphQLType }, owner: string, value: unknown): unknown {
    const { name } = field;
    const type = getNamedType(field.type);
    if (value === null || value === undefined) return value;
    if (type.name === 'DateTime') return moment;
    const fixed = isLeafType(type) ? (fixedValues[`${owner}.${name}`] ?? fixedValues[name]) : undefined;
    if (fixed !== undefined) return fixed;
    if (name === 'eventId') return eventId(String(value));
    if (/(^id|Ids?)$/u.test(name) && ['ID', 'Int', 'Float'].includes(type.name)) return idOf(name, owner, value);
    return isEnumType(type) ? value : valueOf(value, type);
  }

  function idOf(name: string, owner: string, value: unknown): unknown {
    if (Array.isArray(value)) return value.map((each) => idOf(name, owner, each));
    const words = (name === 'id' ? owner : name).toLowerCase();
    const found = Object.keys(firstIds).find((kind) => words.includes(kind));
    if (found === undefined || name === 'externalSyncOwnerId') return anyValue(value);
    const kind = sameKind[found] ?? found;
    const earlier = [...ids.keys()].filter((key) => key.startsWith(`${kind} `)).length;
    const key = `${kind} ${value}`;
    const number = ids.get(key) ?? (firstIds[kind] ?? 1) + earlier;
    ids.set(key, number);
    return typeof value === 'string' ? String(number) : number;
  }

  function eventId(value: string): string {
    const known = eventIds.get(value) ?? `${Date.parse(moment) + 40 * eventIds.size}-0`;
    eventIds.set(value, known);
    return known;
  }

  /** Replaces the texts that differ between runs, and the numbers in `shown`, in a value of unknown type. */
  function anyValue(value: unknown): unknown {
    if (typeof value === 'string') return textOf(value);
    if (typeof value === 'number') return shown.get(value) ?? value;
    if (Array.isArray(value)) return value.map(anyValue);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, anyValue(each)]));
  }

  function textOf(text: string): string {
    const replaced = texts.reduce((whole, [actual, instead]) => whole.replaceAll(actual, String(instead)), text);
    return fixedTexts.reduce((whole, [pattern, instead]) => whole.replaceAll(pattern, instead), replaced);
  }
}

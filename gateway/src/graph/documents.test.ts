import test from 'ava';
import { buildSchema, type OperationDefinitionNode } from 'graphql';
import { createDocuments } from './documents.ts';
import { checkOwnScalars } from './own-scalars.ts';

const schema = buildSchema(`
  scalar DateTime
  scalar JSON
  scalar JSONObject
  input Part { name: String!, size: Int = 3, parts: [Part!] }
  type Query { find(at: DateTime, any: JSON, keys: JSONObject, parts: [[Part]], ids: [ID!]): Int }
`);
checkOwnScalars(schema);
const limits = { maxTokens: 1_000, maxDepth: 7, maxComplexity: 50, maxSelections: 300 };
const documents = createDocuments({ schema: () => schema, introspection: true, ...limits });

/** What is told of a variable of this type. */
function problemsOf(type: string, value: unknown): string[] {
  const read = documents.read(`query ($v: ${type}) { find(${argumentOf[type]}: $v) }`);
  if (Array.isArray(read)) throw new Error(read.join());
  const [operation] = read.document.definitions as [OperationDefinitionNode];
  return documents.checkVariables(operation, { v: value }).map(({ message }) => message.replace('Variable "$v" ', ''));
}
const argumentOf: Record<string, string> = {
  DateTime: 'at',
  JSON: 'any',
  JSONObject: 'keys',
  '[[Part]]': 'parts',
  '[ID!]': 'ids',
};

test('a variable is held to its type as GraphQL says, lists of one included', (t) => {
  for (const [type, value] of [
    ['DateTime', '2026-01-02T03:04:05.678Z'],
    ['JSON', [1, 'a', null]],
    ['JSON', 'text'],
    ['JSONObject', { a: 1 }],
    ['JSONObject', null],
    ['[[Part]]', { name: 'a' }],
    ['[[Part]]', [null, [null, { name: 'a', size: 1, parts: { name: 'b' } }]]],
    ['[ID!]', 7],
    ['[ID!]', ['a', 7]],
  ] as const) {
    t.deepEqual(problemsOf(type, value), [], `${type} ${JSON.stringify(value)}`);
  }
});

test('what is not of its type is told by place and type, without the value', (t) => {
  for (const [type, value, problem] of [
    ['DateTime', 'secret', 'must be of type "DateTime"'],
    ['JSONObject', 'secret', 'must be of type "JSONObject"'],
    ['JSONObject', ['secret'], 'must be of type "JSONObject"'],
    ['[ID!]', ['a', null], 'must be of type "ID!" at "v.1", and is not there'],
    ['[ID!]', [{ secret: 1 }], 'must be of type "ID" at "v.0"'],
    ['[[Part]]', [[{ name: 'a', parts: ['secret'] }]], 'must be of type "Part" at "v.0.0.parts.0"'],
    ['[[Part]]', { name: 'a', size: 'secret' }, 'must be of type "Int" at "v.size"'],
    ['[[Part]]', { size: null }, 'must be of type "String!" at "v.name", and is not there'],
    ['[[Part]]', { name: 'a', ['x'.repeat(50)]: 1 }, `has a field that type "Part" has not at "v.${'x'.repeat(40)}…"`],
    ['[[Part]]', JSON.parse('{"name":"a","__proto__":1}'), 'has a field that type "Part" has not at "v.__proto__"'],
  ] as const) {
    t.deepEqual(problemsOf(type, value), [problem], `${type} ${JSON.stringify(value)}`);
  }
});

test('of many problems twenty are told', (t) => {
  const items = Array.from({ length: 10_000 }, () => null);
  t.is(problemsOf('[ID!]', items).length, 20);
});

test('a literal of a scalar of its own is held to it as well, and not quoted', (t) => {
  for (const literal of ['at: "secret"', 'at: 7', 'keys: "secret"', 'keys: ["secret"]']) {
    const read = documents.read(`{ find(${literal}) }`);
    if (!Array.isArray(read)) return t.fail(literal);
    t.regex(read.map(({ message }) => message).join(), /^Expected a value of type "(DateTime|JSONObject)"\.$/, literal);
  }
  t.false(Array.isArray(documents.read('query ($v: JSON) { find(keys: { a: $v }, any: "text", at: "2026-01-02") }')));
  return t.pass();
});

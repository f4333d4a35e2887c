import test from 'ava';
import { buildSchema, type GraphQLError, type OperationDefinitionNode } from 'graphql';
import { installCustomScalars } from './custom-scalars.ts';
import { createDocuments } from './documents.ts';

const schema = buildSchema(`
  scalar DateTime
  scalar JSON
  scalar JSONObject
  input Part { name: String!, size: Int = 3, parts: [Part!] }
  type Query { find(at: DateTime, any: JSON, keys: JSONObject, parts: [[Part]], ids: [ID!]): Int }
`);
installCustomScalars(schema);
const limits = { maxTokens: 1_000, maxDepth: 7, maxComplexity: 50, maxSelections: 300 };
const documents = createDocuments({ schema: () => schema, introspection: true, ...limits });

/** Returns the errors for a variable of this type that has this value. */
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

/** Returns the errors for a document; none if it is valid. */
function refusalsOf(text: string): readonly GraphQLError[] {
  const read = documents.read(text);
  return Array.isArray(read) ? read : [];
}

test('variables are checked by the rules of GraphQL, including the coercion of single values to lists', (t) => {
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

test('an error about a variable names path and type, not the value', (t) => {
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

test('at most twenty errors are reported', (t) => {
  const items = Array.from({ length: 10_000 }, () => null);
  t.is(problemsOf('[ID!]', items).length, 20);
});

test('literals of custom scalars are checked, and errors do not quote them', (t) => {
  for (const literal of ['at: "secret"', 'at: 7', 'keys: "secret"', 'keys: ["secret"]']) {
    const read = refusalsOf(`{ find(${literal}) }`);
    t.regex(read.map(({ message }) => message).join(), /^Expected a value of type "(DateTime|JSONObject)"\.$/, literal);
  }
  t.false(Array.isArray(documents.read('query ($v: JSON) { find(keys: { a: $v }, any: "text", at: "2026-01-02") }')));
});

test('a syntax error names kind and position of the token, without quoting the document', (t) => {
  for (const [text, problem] of [
    ['{ find(any: hunter2 "horse") }', 'Expected Name, found String.'],
    ['{ find(any: "a" hunter2 horse) }', 'Expected ":", found Name.'],
    ['{ find(any: "a" horse "x\\n\\" Name \\"y: \\"") }', 'Expected ":", found String.'],
    ['{ find(any: horse', 'Expected Name, found <EOF>.'],
    ['horse { find }', 'Unexpected Name.'],
    ['{ find(any: 17 4711) }', 'Expected Name, found Int.'],
    ['{ find(any: 17 47.11) }', 'Expected Name, found Float.'],
    ['{ find """horse: "x" y""" }', 'Expected Name, found BlockString.'],
    ['{ find(any: ]) }', 'Unexpected "]".'],
    ['fragment f of Query { find }', 'Expected "on", found Name.'],
    ['fragment on on Query { find }', 'Unexpected Name.'],
    ['query ($v: Int = $horse) { find }', 'Unexpected variable in constant value.'],
    ['{ find(any: "\\u{horse}") }', 'Invalid Unicode escape sequence.'],
    ['{ find(any: "\\uhorse") }', 'Invalid Unicode escape sequence.'],
    ['{ find(any: "\\horse") }', 'Invalid character escape sequence.'],
    ['{ find(any: "\ud800horse") }', 'Invalid character within String.'],
    ['{ find(any: """\ud800horse""") }', 'Invalid character within String.'],
    ['{ find(any: "horse', 'Unterminated string.'],
    ['{ find(any: 007) }', 'Invalid number, unexpected digit after 0.'],
    ['{ find(any: -horse) }', 'Invalid number, expected digit.'],
    ['{ find(any: 1horse) }', 'Invalid number, expected digit.'],
    ['{ find(any: 1.horse) }', 'Invalid number, expected digit.'],
    ['{ find(any: hunter2%) }', 'Unexpected character.'],
    ['{ find(any: ü) }', 'Unexpected character.'],
    ['{ find(any: \ud800) }', 'Invalid character.'],
    ['enum E { true }', 'Name is reserved and cannot be used for an enum value.'],
  ] as const) {
    const read = refusalsOf(text);
    t.deepEqual(
      read.map(({ message }) => message),
      [`Syntax Error: ${problem}`],
      text,
    );
    t.is(read[0]?.locations?.length, 1, text);
  }
});

test('the same error is reported once per location', (t) => {
  const unique = (name: string) => `The directive "@${name}" can only be used once at this location.`;
  const missing = 'Directive "@include" argument "if" of type "Boolean!" is required, but it was not provided.';
  const notBoolean = 'Expected a value of type "Boolean!".';
  const notDate = 'Expected a value of type "DateTime".';
  const notIds = 'Expected a value of type "ID!".';
  const noSuch = 'Unknown directive "@nope".';
  const ten = (text: string) => `${text} `.repeat(10);
  for (const [text, problems] of [
    [`{ find ${ten('@nope')} }`, [noSuch]],
    [`{ ... ${ten('@nope')} { find } }`, [noSuch]],
    [`query ${ten('@nope')} { find }`, [noSuch]],
    [`query ($v: JSON ${ten('@nope')}) { find(any: $v) }`, [noSuch]],
    [`{ find ${ten('@include')} }`, [missing, unique('include')]],
    [`{ find ${ten('@include(if: 3)')} }`, [notBoolean, unique('include')]],
    [`{ find ${ten('@include(if: $v)')} }`, ['Variable "$v" is not defined.', unique('include')]],
    [`{ find ${ten('@include(if: true)')} }`, [unique('include')]],
    [`{ ${ten('nope')} }`, ['Cannot query field "nope" on type "Query".']],
    // The same error at another location is reported again.
    ['{ a: find @nope b: find @nope }', [noSuch, noSuch]],
    ['query ($v: JSON @nope, $w: JSON @nope) { a: find(any: $v) b: find(any: $w) }', [noSuch, noSuch]],
    ['{ a: find(at: 1) b: find(at: 1) }', [notDate, notDate]],
    ['{ find(ids: [1.5, 1, 2.5]) }', [notIds, notIds]],
    ['{ find @include(if: 1) @skip(if: 1) }', [notBoolean, notBoolean]],
  ] as const) {
    const read = refusalsOf(text);
    t.deepEqual(read.map(({ message }) => message).sort(), [...problems].sort(), text);
  }
});

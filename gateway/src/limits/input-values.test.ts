import test from 'ava';
import { parse } from 'graphql';
import { refusedLiterals, refusedVariables } from './input-values.ts';

const nul = 'must not hold the character NUL';
const half = 'must not hold half of a surrogate pair';
const unused = parse('{ a }');
const nested = (levels: number): unknown => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);

test('strings that cannot be stored are reported by path, anywhere in the variables', (t) => {
  t.deepEqual(refusedVariables(unused, { a: '\0', input: { text: 'x\ud800', tags: ['fine', '\0'] } }), [
    { path: 'a', message: nul },
    { path: 'input.text', message: half },
    { path: 'input.tags.1', message: nul },
  ]);
  t.deepEqual(refusedVariables(unused, { metadata: { ['\0']: 1, fine: { ['\udc00']: 1 } } }), [
    { path: 'metadata', message: `has a key that ${nul}` },
    { path: 'metadata.fine', message: `has a key that ${half}` },
  ]);
  t.deepEqual(refusedVariables(unused, JSON.parse('{"m":{"__proto__":{"x":"\\u0000"}}}')), [
    { path: 'm.__proto__.x', message: nul },
  ]);
});

test('problems of a variable are reported under the argument that uses it, like those of a literal', (t) => {
  const document = parse(
    'query ($i: I, $n: [String]) { a(input: $i) ...f } fragment f on Q { b(input: { names: $n }) c(x: $i) }',
  );
  t.deepEqual(refusedVariables(document, { i: { name: '\0' }, n: ['fine', '\ud800'], unknown: '\0' }), [
    { path: 'input.name', message: nul },
    { path: 'input.names.1', message: half },
    { path: 'unknown', message: nul },
  ]);
});

test('other strings, numbers and nesting pass', (t) => {
  t.deepEqual(refusedVariables(unused, undefined), []);
  t.deepEqual(refusedVariables(unused, null), []);
  t.deepEqual(refusedVariables(unused, { a: '🦜 \u202e \u0001 "\\0"', b: 1, c: null, d: [true, { e: '' }] }), []);
});

test('nesting beyond the limit is refused', (t) => {
  t.deepEqual(refusedVariables(unused, { a: nested(64) }), []);
  t.deepEqual(refusedVariables(unused, { a: nested(65) }), [
    { path: `a${'.0'.repeat(64)}`, message: 'is nested more than 64 levels deep', malformed: true },
  ]);
  t.is(refusedVariables(unused, { a: nested(400_000) }).length, 1);
});

test('the number of reported problems is bounded', (t) => {
  t.is(refusedVariables(unused, { a: Array.from({ length: 1_000 }, () => '\0') }).length, 20);
  t.is(refusedLiterals(parse(`{ a(b: [${'"\\u0000" '.repeat(100)}]) }`)).length, 20);
});

test('string literals are reported by argument', (t) => {
  const document = parse(
    String.raw`query ($v: String = "\u0000") { a(one: "\u0000", two: { three: [{ four: "x\u0000" }], five: "ü" }) @skip(if: "\u0000") b(text: """fine""") }`,
  );
  t.deepEqual(refusedLiterals(document), [
    { path: 'v', message: nul },
    { path: 'one', message: nul },
    { path: 'two.three.four', message: nul },
    { path: 'if', message: nul },
  ]);
  t.deepEqual(refusedLiterals(parse('{ a(b: "fine \\u{1F99C}") }')), []);
});

const tooDeep = 'is nested too deeply to stand in a document: send it as a variable';
const lists = (levels: number) => `${'['.repeat(levels)}1${']'.repeat(levels)}`;

test('literals nested too deeply for query planning are refused', (t) => {
  t.deepEqual(refusedLiterals(parse(`{ a(b: ${lists(5)}, c: ${lists(5)}) }`)), []);
  t.deepEqual(refusedLiterals(parse(`{ a(b: ${lists(6)}, c: { d: ${lists(900)} }, e: "\\u0000") }`)), [
    { path: 'b', message: tooDeep, malformed: true },
    { path: 'c.d', message: tooDeep, malformed: true },
    { path: 'e', message: nul },
  ]);
  t.deepEqual(refusedLiterals(parse(`query ($v: [Int] = ${lists(6)}) { a(b: $v) }`)), [
    { path: 'v', message: tooDeep, malformed: true },
  ]);
  const between = (levels: number) => `${'[{ a: '.repeat(levels)}1${'}]'.repeat(levels)}`;
  t.deepEqual(refusedLiterals(parse(`{ a(b: ${between(5)}) }`)), []);
  t.is(refusedLiterals(parse(`{ a(b: ${between(6)}) }`)).length, 1);
  const objects = (levels: number) => `${'{ a: '.repeat(levels)}1${'}'.repeat(levels)}`;
  t.deepEqual(refusedLiterals(parse(`{ a(b: ${objects(16)}) }`)), []);
  t.is(refusedLiterals(parse(`{ a(b: ${objects(17)}) }`)).length, 1);
  t.is(refusedLiterals(parse(`{ a(b: [${`${lists(14)} `.repeat(60)}]) }`)).length, 20);
});

test('numbers that are not finite are reported, in variables and literals', (t) => {
  const endless = 'must not hold a number that is not finite';
  t.deepEqual(refusedLiterals(parse(`{ a(b: 1e999, c: { d: [-1e999] }, e: 1${'0'.repeat(400)}, f: 1e308) }`)), [
    { path: 'b', message: endless, malformed: true },
    { path: 'c.d', message: endless, malformed: true },
    { path: 'e', message: endless, malformed: true },
  ]);
  t.deepEqual(refusedVariables(unused, JSON.parse('{"a":{"b":[1e999]},"c":1e308,"d":-1e999}')), [
    { path: 'a.b.0', message: endless, malformed: true },
    { path: 'd', message: endless, malformed: true },
  ]);
});

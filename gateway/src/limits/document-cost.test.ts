import test from 'ava';
import { getIntrospectionQuery, parse } from 'graphql';
import { refuseCostly, selectionCosts } from './document-cost.ts';

const limits = { maxDepth: 7, maxComplexity: 50, maxSelections: 300 };
const refused = (text: string) => {
  const error = refuseCostly(parse(text), limits);
  return error && { code: error.extensions.code, message: error.message };
};
const costOf = (text: string) => {
  const document = parse(text);
  const [first] = document.definitions;
  if (first?.kind !== 'OperationDefinition') throw new Error('The first definition is to be an operation');
  return selectionCosts(document)(first);
};
const nested = (levels: number) => `${'{ child'.repeat(levels)}${' }'.repeat(levels)}`;
const fields = (count: number) => Array.from({ length: count }, (_, i) => `f${i}`).join(' ');

test('a root field has depth 1, and fragments add no level', (t) => {
  t.is(costOf('{ a }').depth, 1);
  t.is(costOf('{ a { b } c { d { e } } }').depth, 3);
  t.is(costOf('{ ...F ... on Query { a } } fragment F on Query { b { ... { c } } }').depth, 2);
});

test('limits: query depth 7 passes and 8 is refused, with limit and value', (t) => {
  t.is(refused(nested(7)), undefined);
  t.deepEqual(refused(nested(8)), {
    code: 'DEPTH_LIMIT',
    message: 'The operation is 8 levels deep; at most 7 are allowed',
  });
  const inFragments = `{ child { child { child { child { ...F } } } } } fragment F on T ${nested(4)}`;
  t.is(refused(inFragments)?.code, 'DEPTH_LIMIT');
});

test('limits: query complexity 50 passes and 51 is refused, with limit and value', (t) => {
  t.is(refused(`{ ${fields(50)} }`), undefined);
  t.deepEqual(refused(`{ ${fields(51)} }`), {
    code: 'COMPLEXITY_LIMIT',
    message: 'The operation selects 51 fields; at most 50 are allowed',
  });
  t.is(refused(`{ a { ${fields(49)} } }`), undefined);
  t.is(refused(`{ a { ${fields(50)} } }`)?.code, 'COMPLEXITY_LIMIT');
});

test('aliases and repetitions count one by one, fragments each time they are spread', (t) => {
  t.is(costOf('{ a: x b: x x x }').complexity, 4);
  t.is(costOf('{ ...F a { ...F } } fragment F on T { x y }').complexity, 5);
  t.is(costOf('{ ... on T { x } ... { y } }').complexity, 2);
});

test('the limits apply to every operation of a document', (t) => {
  t.is(refused(`query a { x } query b { ${fields(51)} }`)?.code, 'COMPLEXITY_LIMIT');
  t.is(refused(`query a { ${fields(50)} } query b { ${fields(50)} }`), undefined);
});

test('the first __typename of a selection set is free', (t) => {
  t.is(costOf('{ __typename a { __typename b } }').complexity, 2);
  t.is(costOf('{ __typename other: __typename }').complexity, 1);
});

test('a full introspection query costs nothing, however it is written', (t) => {
  for (const options of [
    {},
    { inputValueDeprecation: true, schemaDescription: true, specifiedByUrl: true, directiveIsRepeatable: true },
  ]) {
    t.is(refused(getIntrospectionQuery(options)), undefined);
  }
  t.deepEqual(costOf('{ __type(name: "A") { fields { name type { ofType { name } } } } a }').complexity, 1);
  t.deepEqual(costOf('{ __schema { types { fields { name } } } }').depth, 0);
});

test('selections that cost nothing still count against the bound on selections', (t) => {
  t.is(refused(`{ ${'__schema { types { fields { args { name } } } } '.repeat(61)} }`)?.code, 'COMPLEXITY_LIMIT');
  t.is(refused(`{ a ${'... { __typename } '.repeat(151)} }`)?.code, 'COMPLEXITY_LIMIT');
});

test('the cost of exponentially nested fragments is found in linear time', (t) => {
  const bomb = (inner: string) =>
    `{ ...F0 } ${Array.from({ length: 60 }, (_, i) => `fragment F${i} on T { a: x { ...F${i + 1} } b: x { ...F${i + 1} } }`).join(' ')}
     fragment F60 on T { ${inner} }`;
  // Visiting every fragment spread would practically never end.
  t.is(refused(bomb('x'))?.code, 'DEPTH_LIMIT');
  const free = Array.from(
    { length: 60 },
    (_, i) => `fragment F${i} on T { ... { ...F${i + 1} } ... { ...F${i + 1} } }`,
  );
  t.regex(
    refused(`{ ...F0 } ${free.join(' ')} fragment F60 on T { __typename }`)?.message ?? '',
    /1000000\d+ times; at most 300/,
  );
});

test('recursive fragments end the cost check and are left to validation', (t) => {
  t.is(refused('{ ...F } fragment F on T { a ...F }'), undefined);
  t.is(refused('{ ...F } fragment F on T { a ...G } fragment G on T { b { ...F } ...Gone }'), undefined);
});

test('an operation may select __schema once, fragments included', (t) => {
  const schema = (name: string) => `${name}: __schema { queryType { name } }`;
  t.is(refused(`{ ${schema('a')} }`), undefined);
  t.is(refused(`query one { ${schema('a')} } query two { ${schema('a')} }`), undefined);
  for (const twice of [
    `{ ${schema('a')} ${schema('b')} }`,
    `{ ${schema('a')} ...f } fragment f on Query { ${schema('b')} }`,
    `{ ...f ... { ...f } } fragment f on Query { ${schema('b')} }`,
  ]) {
    t.like(refused(twice), { code: 'COMPLEXITY_LIMIT' }, twice);
  }
});

test('the whole schema can be queried once, and repeated lists are refused', (t) => {
  const many = (count: number, part: (i: number) => string) =>
    Array.from({ length: count }, (_, i) => part(i)).join(' ');
  const asksTooMuch = (text: string) => /asks the schema/.test(refused(text)?.message ?? '');
  const whole = getIntrospectionQuery({
    schemaDescription: true,
    inputValueDeprecation: true,
    specifiedByUrl: true,
    directiveIsRepeatable: true,
    oneOf: true,
  });
  t.is(refused(whole), undefined);
  t.is(
    refused(`{ ${many(12, (i) => `t${i}: __type(name: "T${i}") { name fields { name args { name } } }`)} }`),
    undefined,
  );
  for (const text of [
    `{ __schema { ${many(80, (i) => `t${i}: types { name fields { name } }`)} } }`,
    `{ __schema { types { ${many(80, (i) => `f${i}: fields { name args { name } }`)} } } }`,
    `{ __schema { types { fields { ${many(200, (i) => `n${i}: name`)} } } } }`,
    `{ __schema { types { ...F } } } fragment F on __Type { ${many(90, (i) => `f${i}: fields { ...G }`)} } fragment G on __Field { name }`,
    `{ ...Q } fragment Q on Query { __schema { types { ... { fields { type { fields { ${many(200, (i) => `n${i}: name`)} } } } } } } }`,
    `{ __type(name: "Mutation") { ${many(16, (i) => `f${i}: fields { ${many(14, (j) => `a${j}: args { name }`)} }`)} } }`,
  ]) {
    t.true(asksTooMuch(text), text.slice(0, 100));
  }
});

test('below __schema too, recursive and exponentially nested fragments cost linear time', (t) => {
  const doubling = Array.from(
    { length: 40 },
    (_, i) => `fragment f${i} on __Type { a: ofType { ...f${i + 1} } b: ofType { ...f${i + 1} } }`,
  );
  t.is(refused(`{ __schema { types { ...f0 } } } ${doubling.join(' ')}`)?.code, 'COMPLEXITY_LIMIT');
  t.is(refused('{ __schema { types { ...f } } } fragment f on __Type { fields { type { ...f } } }'), undefined);
});

import test from 'ava';
import { parse, print } from 'graphql';
import { isRetryable, requestedFields, splitMutations } from './split-mutations.ts';

const normal = (text: string) => print(parse(text));

test('mutations are split in order, each with the variables and fragments that it uses', (t) => {
  const parts = splitMutations(`
    mutation Many__identity__0($a: In!, $b: In!, $c: Boolean!) {
      one: rename(input: $a) { ...t }
      ... @include(if: $c) { two: rename(input: $b) { id } drop }
      ...more @skip(if: $c)
    }
    fragment t on Tenant { id ...n }
    fragment n on Tenant { name @include(if: $c) }
    fragment more on Mutation { mint { key } }
  `);
  t.deepEqual(
    parts.map(({ query }) => normal(query)),
    [
      `mutation Many__identity__0($a: In!, $c: Boolean!) { one: rename(input: $a) { ...t } }
       fragment t on Tenant { id ...n } fragment n on Tenant { name @include(if: $c) }`,
      'mutation Many__identity__0($b: In!, $c: Boolean!) { ... @include(if: $c) { two: rename(input: $b) { id } } }',
      'mutation Many__identity__0($c: Boolean!) { ... @include(if: $c) { drop } }',
      'mutation Many__identity__0($c: Boolean!) { ... @skip(if: $c) { mint { key } } }',
    ].map(normal),
  );
  t.deepEqual(
    parts.map(({ fields }) => fields.map(({ name }) => name)),
    [['rename'], ['rename'], ['drop'], ['mint']],
  );
  t.deepEqual(
    parts.map(({ responseName }) => responseName),
    ['one', 'two', 'drop', 'mint'],
  );
});

test('a single mutation or a query is not split', (t) => {
  const one = 'mutation ($a: In!) { a: rename(input: $a) { id } }';
  t.deepEqual(splitMutations(one), [{ query: one, fields: [{ type: 'Mutation', name: 'rename' }] }]);
  const entities = 'query ($r: [_Any!]!) { _entities(representations: $r) { ... on Agent { name } } }';
  t.deepEqual(splitMutations(entities), [{ query: entities, fields: [] }]);
  t.deepEqual(requestedFields('mutation { a: startSession { id } b: startSession { id } }').length, 2);
});

test('a query without @sentOnce may be retried, a mutation may not', (t) => {
  const rules = new Map([
    ['Query.read', { by: [] }],
    ['Query.pay', { by: [], sentOnce: true }],
  ]);
  t.true(isRetryable('{ read }', rules));
  t.true(isRetryable('query ($r: [_Any!]!) { _entities(representations: $r) { ... on Agent { name } } }', rules));
  t.false(isRetryable('{ read ...more } fragment more on Query { also: pay }', rules));
  t.false(isRetryable('mutation { write }', rules));
});

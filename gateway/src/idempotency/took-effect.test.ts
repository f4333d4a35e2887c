import test from 'ava';
import { tookEffect } from './took-effect.ts';

const one = 'mutation { begin { id } }';
const two = 'mutation { a: begin { id } b: begin { id } }';
const at = (...path: (string | number)[]) => ({ path });

test('a mutation that answered took effect, one that failed did not', (t) => {
  t.true(tookEffect({ query: one }, { data: { begin: { id: 1 } } }));
  t.true(tookEffect({ query: one }, { data: { begin: false } }));
  t.false(tookEffect({ query: one }, { data: { begin: null } }));
  t.false(tookEffect({ query: one }, { data: null, errors: [at('begin')] }));
  t.false(tookEffect({ query: one }, { errors: [{}] }), 'a request that was refused as a whole');
});

test('a mutation with an error in its selected result has taken effect', (t) => {
  t.true(tookEffect({ query: one }, { data: null, errors: [at('begin', 'agent')] }));
  t.true(tookEffect({ query: one }, { data: { begin: { agent: null } }, errors: [at('begin', 'agent')] }));
});

test('if the first of several mutations failed, none took effect; if a later one failed, the first did', (t) => {
  t.false(tookEffect({ query: two }, { data: null, errors: [at('a')] }));
  t.true(tookEffect({ query: two }, { data: null, errors: [at('b')] }));
  t.false(tookEffect({ query: two }, { data: { a: null, b: null }, errors: [at('a'), at('b')] }));
  t.true(tookEffect({ query: two }, { data: { a: null, b: { id: 1 } }, errors: [at('a')] }));
});

test('queries never count as effects', (t) => {
  t.false(tookEffect({ query: '{ answer { text } }' }, { data: { answer: { text: 'Hi' } } }));
  t.false(tookEffect({ query: '{ _entities { id } }' }, { data: { _entities: [{ id: 1 }] } }));
});

const skipped = 'mutation ($s: Boolean!) { a: begin @skip(if: $s) { id } b: begin { id } }';

test('a field excluded by a directive does not count as run before the failed one', (t) => {
  const failed = { data: null, errors: [at('b')] };
  t.false(tookEffect({ query: skipped, variables: { s: true } }, failed));
  t.true(tookEffect({ query: skipped, variables: { s: false } }, failed));
  const byDefault = skipped.replace('Boolean!', 'Boolean! = true');
  t.false(tookEffect({ query: byDefault }, failed));
  t.true(tookEffect({ query: byDefault, variables: { s: false } }, failed));
  const included =
    'mutation ($s: Boolean!) { ... @include(if: $s) { a: begin { id } } ...F } fragment F on Mutation { b: begin { id } }';
  t.false(tookEffect({ query: included, variables: { s: false } }, failed));
  t.true(tookEffect({ query: included, variables: { s: true } }, failed));
});

test('two failed mutations, one nullable and one not, took no effect', (t) => {
  t.false(tookEffect({ query: two }, { data: null, errors: [at('a'), at('b')] }));
  t.true(
    tookEffect({ query: two }, { data: null, errors: [at('a'), at('b', 'agent')] }),
    'the result of the other one failed',
  );
});

test('__typename does not count as an effect', (t) => {
  const failed = { data: { __typename: 'Mutation', kind: 'Mutation', begin: null }, errors: [at('begin')] };
  t.false(tookEffect({ query: 'mutation { __typename kind: __typename begin { id } }' }, failed));
});

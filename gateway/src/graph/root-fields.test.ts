import test from 'ava';
import { getOperationAST, parse } from 'graphql';
import { rootFields } from './root-fields.ts';

function namesIn(query: string, operationName?: string): string[] {
  const document = parse(query);
  const operation = getOperationAST(document, operationName);
  if (!operation) throw new Error('no such operation');
  return rootFields(document, operation).map(({ type, name }) => `${type}.${name}`);
}

test('an alias is an occurrence of its own, and what merges is one', (t) => {
  t.deepEqual(namesIn('{ a b { c } }'), ['Query.a', 'Query.b']);
  t.deepEqual(namesIn('mutation { x: enter y: enter enter }'), ['Mutation.enter', 'Mutation.enter', 'Mutation.enter']);
  t.deepEqual(namesIn('{ a a x: a ... { a } }'), ['Query.a', 'Query.a']);
});

test('fragments are expanded, those of types and those without one, wherever they stand', (t) => {
  const query = `
    fragment inner on Query { deep }
    query { ... on Query { ...outer } ... @include(if: true) { other } }
    fragment outer on Query { ...inner shallow }`;
  t.deepEqual(namesIn(query), ['Query.deep', 'Query.shallow', 'Query.other']);
});

test('fields that may be left out count, introspection does not, nor does what lies below the root', (t) => {
  t.deepEqual(namesIn('query ($x: Boolean!) { a @skip(if: $x) __typename __schema { types { name } } }'), ['Query.a']);
  t.deepEqual(namesIn('subscription { events { id } }'), ['Subscription.events']);
});

test('of several operations only the one that runs is looked at', (t) => {
  t.deepEqual(namesIn('query one { a } mutation two { b }', 'two'), ['Mutation.b']);
});

test('fragments within fragments cost no more than their length, and circles end', (t) => {
  const depth = 300;
  const fragments = Array.from({ length: depth }, (_, i) => `fragment f${i} on Query { ...f${i + 1} ...f${i + 1} }`);
  const query = `{ ...f0 } ${fragments.join(' ')} fragment f${depth} on Query { a ...f0 }`;
  t.deepEqual(namesIn(query), ['Query.a']);
});

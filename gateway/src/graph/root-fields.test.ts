import test from 'ava';
import { getOperationAST, parse } from 'graphql';
import { rootFields } from './root-fields.ts';

function namesIn(query: string, operationName?: string): string[] {
  const document = parse(query);
  const operation = getOperationAST(document, operationName);
  if (!operation) throw new Error('no such operation');
  return rootFields(document, operation).map(({ type, name }) => `${type}.${name}`);
}

test('each alias is a root field of its own, and merged selections are one', (t) => {
  t.deepEqual(namesIn('{ a b { c } }'), ['Query.a', 'Query.b']);
  t.deepEqual(namesIn('mutation { x: enter y: enter enter }'), ['Mutation.enter', 'Mutation.enter', 'Mutation.enter']);
  t.deepEqual(namesIn('{ a a x: a ... { a } }'), ['Query.a', 'Query.a']);
});

test('named and inline fragments are expanded', (t) => {
  const query = `
    fragment inner on Query { deep }
    query { ... on Query { ...outer } ... @include(if: true) { other } }
    fragment outer on Query { ...inner shallow }`;
  t.deepEqual(namesIn(query), ['Query.deep', 'Query.shallow', 'Query.other']);
});

test('conditional root fields count; introspection and nested fields do not', (t) => {
  t.deepEqual(namesIn('query ($x: Boolean!) { a @skip(if: $x) __typename __schema { types { name } } }'), ['Query.a']);
  t.deepEqual(namesIn('subscription { events { id } }'), ['Subscription.events']);
});

test('only the operation that runs is read', (t) => {
  t.deepEqual(namesIn('query one { a } mutation two { b }', 'two'), ['Mutation.b']);
});

test('nested fragments cost linear time, and recursive ones end', (t) => {
  const depth = 300;
  const fragments = Array.from({ length: depth }, (_, i) => `fragment f${i} on Query { ...f${i + 1} ...f${i + 1} }`);
  const query = `{ ...f0 } ${fragments.join(' ')} fragment f${depth} on Query { a ...f0 }`;
  t.deepEqual(namesIn(query), ['Query.a']);
});

import test from 'ava';
import { tookEffect } from './took-effect.ts';

const one = 'mutation { begin { id } }';
const two = 'mutation { a: begin { id } b: begin { id } }';
const at = (...path: (string | number)[]) => ({ path });

test('a mutation that answered took effect, one that failed did not', (t) => {
  t.true(tookEffect(one, { data: { begin: { id: 1 } } }));
  t.true(tookEffect(one, { data: { begin: false } }));
  t.false(tookEffect(one, { data: { begin: null } }));
  t.false(tookEffect(one, { data: null, errors: [at('begin')] }));
  t.false(tookEffect(one, { errors: [{}] }), 'a request that was refused as a whole');
});

test('an error below a mutation is of its result', (t) => {
  t.true(tookEffect(one, { data: null, errors: [at('begin', 'agent')] }));
  t.true(tookEffect(one, { data: { begin: { agent: null } }, errors: [at('begin', 'agent')] }));
});

test('where the first of several failed nothing ran, where another one did the first has taken effect', (t) => {
  t.false(tookEffect(two, { data: null, errors: [at('a')] }));
  t.true(tookEffect(two, { data: null, errors: [at('b')] }));
  t.false(tookEffect(two, { data: { a: null, b: null }, errors: [at('a'), at('b')] }));
  t.true(tookEffect(two, { data: { a: null, b: { id: 1 } }, errors: [at('a')] }));
});

test('queries take no effect here, whatever they cost', (t) => {
  t.false(tookEffect('{ answer { text } }', { data: { answer: { text: 'Hi' } } }));
  t.false(tookEffect('{ _entities { id } }', { data: { _entities: [{ id: 1 }] } }));
});

import test from 'ava';
import { type AskedOperation, requestSha256 } from './request-sha256.ts';

const hex = (asked: AskedOperation) => requestSha256(asked).toString('hex');
const query = 'mutation ($in: In!) { a(in: $in) { id } }';
const asked = { query, variables: { in: { name: 'Ada', list: [1, { x: 1, y: 2 }] }, other: null } };

test('the order of names in variables does not matter, the order of list elements does', (t) => {
  const turned = { query, variables: { other: null, in: { list: [1, { y: 2, x: 1 }], name: 'Ada' } } };
  t.is(hex(turned), hex(asked));
  const list = { query, variables: { ...asked.variables, in: { name: 'Ada', list: [{ x: 1, y: 2 }, 1] } } };
  t.not(hex(list), hex(asked));
});

test('missing and empty variables hash equally, and so do missing and empty operation names', (t) => {
  t.is(hex({ query }), hex({ query, variables: {}, operationName: '' }));
});

test('a different query text, name, value or value type gives a different hash', (t) => {
  const others: AskedOperation[] = [
    { ...asked, query: query.replace('id', 'name') },
    { ...asked, operationName: 'A' },
    { query },
    { query, variables: { in: asked.variables.in } },
    { query, variables: { ...asked.variables, other: 'null' } },
    { query, variables: { ...asked.variables, other: [] } },
    { query, variables: JSON.parse('{"__proto__": {"name": "Ada"}}') },
    { query, variables: JSON.parse('{"__proto__": {"name": "Eve"}}') },
  ];
  t.is(new Set([asked, ...others].map(hex)).size, others.length + 1);
});

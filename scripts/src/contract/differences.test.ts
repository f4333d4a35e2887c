import { type ContractRule, readContract } from '@parley/stories/contract';
import test from 'ava';
import { readFieldRules } from '../../../gateway/src/graph/field-rules.ts';
import { type DocumentedOperation, differences, unlikeDocument } from './differences.ts';

const contract = new Map<string, ContractRule>([
  ['Query.read', { served: true, by: ['JWT', 'API_KEY'] }],
  ['Mutation.enter', { served: true, by: [], throttle: { requests: 2, windowSeconds: 9, failsClosed: true } }],
  ['Mutation.leave', { served: true, by: ['JWT'], whileSuspended: true, changesCaller: 'always' }],
  ['Mutation.later', { by: ['JWT'], longBody: true }],
]);
const good = {
  read: '@access(by: [API_KEY, JWT])',
  enter: '@access(by: []) @throttle(requests: 2, windowSeconds: 9, failsClosed: true)',
  leave: '@access(by: [JWT], whileSuspended: true) @changesCaller',
};
const compared = (changes: Partial<typeof good>, more = '') => {
  const { read, enter, leave } = { ...good, ...changes };
  const sdl = `type Query { read: Int ${read} } type Mutation { enter: Int ${enter} leave: Int ${leave} ${more} }`;
  return differences(contract, readFieldRules(sdl));
};

test('directives that match the contract have no differences', (t) => {
  t.deepEqual(compared({}), []);
});

test('each rule that differs from the contract is reported, with both values', (t) => {
  t.deepEqual(compared({ read: '@access(by: [JWT], whileSuspended: false, whileLimited: true) @longBody' }), [
    'Query.read: by is ["JWT"], by the contract ["API_KEY","JWT"]',
    'Query.read: whileSuspended is false, by the contract true',
    'Query.read: whileLimited is true, by the contract false',
    'Query.read: longBody is true, by the contract false',
  ]);
  t.deepEqual(compared({ enter: '@access(by: []) @throttle(requests: 2, windowSeconds: 9)' }), [
    'Mutation.enter: throttle is {"failsClosed":false,"requests":2,"windowSeconds":9}, by the contract {"failsClosed":true,"requests":2,"windowSeconds":9}',
  ]);
  t.deepEqual(compared({ leave: '@access(by: [JWT], whileSuspended: true) @changesCaller(onlyFailing: true)' }), [
    'Mutation.leave: changesCaller is "failing", by the contract "always"',
  ]);
  t.deepEqual(compared({ leave: '@access(by: [JWT], whileSuspended: true) @changesCaller(tenant: true)' }), [
    'Mutation.leave: changesTenant is true, by the contract false',
  ]);
});

test('an operation that is missing in the schema or in the contract is reported', (t) => {
  t.deepEqual(differences(contract, new Map()).length, 3);
  t.deepEqual(compared({}, 'later: Int @access(by: [JWT]) @longBody other: Int @access(by: [])'), [
    'Mutation.later is served, and gateway/contract.json does not say so: if the contract has it so, add "served": true to its entry',
    'Mutation.other is served, and gateway/contract.json does not say so: if the contract has it so, add "Mutation.other": {"served":true,"by":[]}',
  ]);
});

test('the suggested entry corresponds to the directives', (t) => {
  const fields = { query: '@access(by: [JWT])', long: '@access(by: [], whileSuspended: false) @longBody' };
  const rules = readFieldRules(`type Query { query: Int ${fields.query} long: Int ${fields.long} }`);
  const entries = differences(new Map(), rules).map((line) => JSON.parse(`{${line.replace(/.*?, add /u, '')}}`));
  t.deepEqual(entries, [
    { 'Query.query': { served: true, by: ['JWT'] } },
    { 'Query.long': { served: true, by: [], longBody: true, whileSuspended: false } },
  ]);
  t.deepEqual(differences(new Map(entries.flatMap((entry) => Object.entries(entry))), rules), []);
});

test('the file is compared with the contract’s document', (t) => {
  const leave = { operation: 'leave', kind: 'mutation', auth: ['JWT'] } satisfies DocumentedOperation;
  t.deepEqual(unlikeDocument(contract, [leave]), []);
  t.deepEqual(unlikeDocument(contract, [{ ...leave, auth: [], throttle: { requests: 1, windowSeconds: 2 } }]), [
    'gateway/contract.json, Mutation.leave: by is ["JWT"], by the contract []',
    'gateway/contract.json, Mutation.leave: throttle is undefined, by the contract {"requests":1,"windowSeconds":2}',
  ]);
  t.deepEqual(unlikeDocument(contract, [{ ...leave, kind: 'query' }]), ['Query.leave is not in gateway/contract.json']);
});

test('the file contains no keys that the rules do not define', (t) => {
  const known =
    'served by whileSuspended whileLimited withoutTenant throttle longBody sentOnce longRunning callsPerTenant passedThrough changesCaller changesTenant'.split(
      ' ',
    );
  for (const [name, rule] of readContract()) {
    t.deepEqual(
      Object.keys(rule).filter((key) => !known.includes(key)),
      [],
      name,
    );
  }
});

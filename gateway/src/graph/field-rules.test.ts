import test from 'ava';
import { longOperations, readFieldRules } from './field-rules.ts';
import { readSupergraph } from './supergraph.ts';

test('the rules of a root field are read from its directives', (t) => {
  const rules = readFieldRules(`
    type Query @join__type(graph: AGENT) {
      room(id: ID!): String @join__field(graph: AGENT) @access(by: [JWT, API_KEY])
      profile: String @access(by: [JWT], whileSuspended: false, whileLimited: true)
    }
    type Mutation {
      enter: Boolean
        @join__field(graph: IDENTITY)
        @access(by: [])
        @throttle(requests: 10, windowSeconds: 60, failsClosed: true)
      refresh: Boolean @access(by: []) @throttle(requests: 2, windowSeconds: 9) @changesCaller(onlyFailing: true)
      leave: Boolean @access(by: [JWT], whileSuspended: true, whileLimited: false) @changesCaller
      move: Boolean @access(by: [JWT]) @changesCaller(tenant: true)
      ingest: Boolean @access(by: [JWT]) @longBody @sentOnce @longRunning @passedThrough
      crawl: Boolean @access(by: [JWT]) @longRunning(callsPerTenant: 3)
    }
    type Subscription {
      events: String @access(by: [SESSION_TOKEN])
    }
    type Other { field: String }`);
  t.deepEqual(Object.fromEntries(rules), {
    'Query.room': { by: ['JWT', 'API_KEY'], whileSuspended: true },
    'Query.profile': { by: ['JWT'], whileLimited: true },
    'Mutation.enter': { by: [], throttle: { requests: 10, windowSeconds: 60, failsClosed: true } },
    'Mutation.refresh': { by: [], throttle: { requests: 2, windowSeconds: 9 }, changesCaller: 'failing' },
    'Mutation.leave': { by: ['JWT'], whileSuspended: true, changesCaller: 'always' },
    'Mutation.move': { by: ['JWT'], changesCaller: 'always', changesTenant: true },
    'Mutation.ingest': { by: ['JWT'], longBody: true, sentOnce: true, longRunning: true, passedThrough: true },
    'Mutation.crawl': { by: ['JWT'], longRunning: true, callsPerTenant: 3 },
    'Subscription.events': { by: ['SESSION_TOKEN'] },
  });
  t.deepEqual(longOperations(rules), ['ingest']);
});

test('the gateway does not start with a root field without @access', (t) => {
  for (const type of ['Query', 'Mutation', 'Subscription']) {
    t.throws(() => readFieldRules(`type ${type} @join__type(graph: A) { open: Int @access(by: []) forgotten: Int }`), {
      message: `${type}.forgotten has no @access`,
    });
  }
});

test('every root field of the supergraph on disk names its credentials', async (t) => {
  const rules = readFieldRules(await readSupergraph());
  t.true(rules.size >= 30);
  for (const [name, { by }] of rules) {
    t.true(
      by.every((kind) => ['JWT', 'API_KEY', 'SESSION_TOKEN'].includes(kind)),
      name,
    );
  }
});

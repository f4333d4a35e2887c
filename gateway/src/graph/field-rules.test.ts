import test from 'ava';
import { readFieldRules } from './field-rules.ts';
import { readSupergraph } from './supergraph.ts';

test('the rules of a root field are read off its directives', (t) => {
  const rules = readFieldRules(`
    type Query @join__type(graph: AGENT) {
      agent(id: ID!): String @join__field(graph: AGENT) @access(by: [JWT, API_KEY])
    }
    type Mutation {
      login: Boolean @join__field(graph: IDENTITY) @access(by: []) @throttle(requests: 10, windowSeconds: 60)
    }
    type Other { field: String }`);
  t.deepEqual(Object.fromEntries(rules), {
    'Query.agent': { by: ['JWT', 'API_KEY'], subgraph: 'agent' },
    'Mutation.login': { by: [], subgraph: 'identity', throttle: { requests: 10, windowSeconds: 60 } },
  });
});

test('a root field without @access stops the gateway: nothing is public by mistake', (t) => {
  for (const type of ['Query', 'Mutation', 'Subscription']) {
    t.throws(() => readFieldRules(`type ${type} @join__type(graph: A) { open: Int @access(by: []) forgotten: Int }`), {
      message: `${type}.forgotten has no @access`,
    });
  }
});

test('every root field of the supergraph on disk names its credentials and the unit that serves it', async (t) => {
  const rules = readFieldRules(await readSupergraph());
  t.true(rules.size >= 30);
  for (const [name, { by, subgraph }] of rules) {
    t.true(
      by.every((kind) => ['JWT', 'API_KEY', 'SESSION_TOKEN'].includes(kind)),
      name,
    );
    t.true(['identity', 'agent', 'session'].includes(subgraph), `${name} is served by ${subgraph}`);
  }
  t.deepEqual(rules.get('Mutation.login')?.by, []);
});

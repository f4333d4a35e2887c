import test from 'ava';
import { fieldsWithAfter, subscriptionOwners } from './subscription-owners.ts';

const graphs = 'enum join__Graph { ONE @join__graph(name: "one", url: "") TWO @join__graph(name: "two", url: "") }';
const both = '@join__type(graph: ONE) @join__type(graph: TWO)';
const owners = (subscription: string) => [...subscriptionOwners(`${graphs} ${subscription}`)];

test('a field belongs to the only subgraph of its type, or to the one in its join__field', (t) => {
  t.deepEqual(owners('type Subscription @join__type(graph: TWO) { a: Int b: Int }'), [
    ['a', 'two'],
    ['b', 'two'],
  ]);
  t.deepEqual(owners(`type Subscription ${both} { a: Int @join__field(graph: ONE) b: Int @join__field(graph: TWO) }`), [
    ['a', 'one'],
    ['b', 'two'],
  ]);
  t.deepEqual(owners('type Query @join__type(graph: ONE) { a: Int }'), []);
});

test('a field of several subgraphs or of none is refused', (t) => {
  t.throws(() => owners(`type Subscription ${both} { a: Int }`), { message: /Subscription.a belongs to several/ });
  t.throws(() => owners('type Subscription { a: Int }'), { message: /Subscription.a belongs to no subgraph/ });
});

test('fields whose clients name the event to resume after are found by that argument', (t) => {
  t.deepEqual(
    [
      ...fieldsWithAfter(
        'type Query { c(after: Int): Int } type Subscription { a(id: Int, after: Int): Int b(id: Int): Int }',
      ),
    ],
    ['a'],
  );
});

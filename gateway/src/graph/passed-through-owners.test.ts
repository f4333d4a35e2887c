import test from 'ava';
import { readFieldRules } from './field-rules.ts';
import { passedThroughOwners } from './passed-through-owners.ts';

const graphs = 'enum join__Graph { A @join__graph(name: "agent", url: "") B @join__graph(name: "base", url: "") }';

function ownersOf(field: string, types = ''): Map<string, string> {
  const sdl = `${graphs} type Query @join__type(graph: A) @join__type(graph: B) { ${field} @access(by: []) @passedThrough } ${types}`;
  return passedThroughOwners(sdl, readFieldRules(sdl));
}

test('a query with @passedThrough belongs to the subgraph of all its types', (t) => {
  const types = `
    type Vectors @join__type(graph: B) { next: [Vectors!]! any: Any kind: Kind at: DateTime }
    union Any @join__type(graph: B) = Vectors
    enum Kind @join__type(graph: A) @join__type(graph: B) { X }
    scalar DateTime @join__type(graph: A) @join__type(graph: B)
  `;
  t.deepEqual([...ownersOf('large: [Vectors!]! @join__field(graph: B)', types)], [['large', 'base']]);
});

test('a query that needs several subgraphs or reaches a type of another one cannot be passed through', (t) => {
  const refused: [string, string, RegExp][] = [
    ['large: Int', '', /Query\.large cannot be passed through: it is no query of one subgraph/u],
    [
      'large: T @join__field(graph: B)',
      'type T @join__type(graph: B) @join__type(graph: A, key: "id") { id: ID }',
      /T belongs to another/u,
    ],
    [
      'large: [T!]! @join__field(graph: B)',
      'type T @join__type(graph: B) { u: U } interface U @join__type(graph: B) { id: ID } type V implements U @join__type(graph: A) { id: ID }',
      /V belongs to another/u,
    ],
    [
      'large: T @join__field(graph: B)',
      'union T @join__type(graph: B) = U type U @join__type(graph: A) { id: ID }',
      /U belongs to another/u,
    ],
  ];
  for (const [field, types, message] of refused) t.throws(() => ownersOf(field, types), { message }, field);
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { isTypeDefinitionNode, parse } from 'graphql';
import { root } from '../root.ts';

const supergraph = readFileSync(join(root, 'gateway/supergraph.graphql'), 'utf8');
const roots = ['Query', 'Mutation', 'Subscription'];

/** Returns the public types and fields without a description. Root types need no description. */
function undescribed(sdl: string): string[] {
  return parse(sdl).definitions.flatMap((each) => {
    if (!isTypeDefinitionNode(each)) return [];
    const { value: name } = each.name;
    if (name.includes('__')) return []; // Federation's definitions, whose names begin with their spec's name
    const fields = 'fields' in each ? (each.fields ?? []) : [];
    return [
      ...(each.description || roots.includes(name) ? [] : [name]),
      ...fields.filter(({ description }) => !description).map((field) => `${name}.${field.name.value}`),
    ];
  });
}

test('every type, input and field of the API says what it is', (t) => {
  t.deepEqual(undescribed(supergraph), []);
});

test('a type, an enum, an input or a field without a description is found', (t) => {
  const sdl = `
    type Query { "Said." said: Int unsaid: Int }
    "Said." type Said { unsaid: Int }
    enum Unsaid { ONE }
    input UnsaidInput { "Said." said: Int }
    scalar join__FieldSet`;
  t.deepEqual(undescribed(sdl), ['Query.unsaid', 'Said.unsaid', 'Unsaid', 'UnsaidInput']);
});

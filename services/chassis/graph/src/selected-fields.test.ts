import type { SelectedFields } from '@parley/kernel/answer-budget';
import test from 'ava';
import { buildSchema, execute, type GraphQLResolveInfo, parse } from 'graphql';
import { selectedFields } from './selected-fields.ts';

const schema = buildSchema(`
  type Thing { id: Int text: String parts: [Thing!] }
  type Query { things: [Thing!]! }
`);

/** Returns the selected fields that a resolver of `things` receives. */
async function selected(document: string, variableValues: Record<string, unknown> = {}): Promise<SelectedFields> {
  let fields: SelectedFields | undefined;
  const things = (_args: unknown, _context: unknown, info: GraphQLResolveInfo) => {
    fields = selectedFields(info);
    return [];
  };
  await execute({ schema, document: parse(document), variableValues, rootValue: { things } });
  if (!fields) throw new Error('things was not resolved');
  return fields;
}

test('a field counts once for each name that it has in the answer, through fragments too', async (t) => {
  const fields = await selected(
    `{ things { id text again: text ... on Thing { text more: text } ...some } things { last: text } }
     fragment some on Thing { more: text parts { id } }`,
  );
  t.is(fields.times('text'), 4);
  t.is(fields.times('id'), 1);
  t.is(fields.times('parts'), 1);
  t.is(fields.times('metadata'), 0);
});

test('a field that is skipped or not included does not count', async (t) => {
  const document = `query ($no: Boolean!, $yes: Boolean!) {
    things { id text @include(if: $no) more: text @skip(if: $yes) ... @include(if: $no) { other: text } last: text @include(if: $yes) }
  }`;
  const fields = await selected(document, { no: false, yes: true });
  t.is(fields.times('text'), 1);
});

test('an object is charged more the more fields are selected', async (t) => {
  const [narrow, wide] = [await selected('{ things { id } }'), await selected('{ things { id a: id b: id c: id } }')];
  t.true(narrow.objectBytes > 50);
  t.true(wide.objectBytes > narrow.objectBytes);
});

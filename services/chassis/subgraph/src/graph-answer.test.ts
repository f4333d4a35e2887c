import { answerWriter } from '@parley/graph/answer-size';
import { answerBudget } from '@parley/kernel/answer-budget';
import test from 'ava';
import { buildSchema, execute, type GraphQLResolveInfo, parse } from 'graphql';
import { graphAnswer } from './graph-answer.ts';

const schema = buildSchema(`
  type Part { id: Int }
  type Thing { id: Int parts(first: Int): [Part!]! }
  type Query { things: [Thing!]! }
`);

/** Executes a document on things with these ids, each with two parts. Also returns the batches of reads and the charged bytes. */
async function answered(document: string, ids: number[], bytes = 10_000) {
  const budget = answerBudget(bytes);
  const read: string[] = [];
  const partsOf = graphAnswer(budget).batched(async (_info, keys, first: number | undefined) => {
    read.push(`${keys.join()} ${first}`);
    return keys.map((id) => [{ id }, { id: -id }]);
  });
  const thing = (id: number) => ({
    id,
    parts: ({ first }: { first?: number }, _context: unknown, info: GraphQLResolveInfo) => partsOf(info, id, first),
  });
  const { data, errors } = await execute({
    schema,
    document: parse(document),
    rootValue: { things: () => ids.map(thing) },
  });
  const remainingBytes = await budget.runExclusive(async (room) => room.remainingBytes).catch(() => -1);
  return { data, errors, read, taken: bytes - remainingBytes };
}

test('a field of many objects is read in one batch per place in the document, with the arguments of that place', async (t) => {
  const { data, read } = await answered(
    `{ things { parts(first: 1) { id } more: parts { id } } again: things { ...some } }
     fragment some on Thing { parts(first: 1) { id } }`,
    [1, 2],
  );
  t.deepEqual(read.toSorted(), ['1,2 1', '1,2 1', '1,2 undefined']);
  t.like(data, { things: { 1: { parts: [{ id: 2 }, { id: -2 }] } }, again: { 0: { parts: [{ id: 1 }, { id: -1 }] } } });
});

test('an object that is twice in one list is read once and charged twice', async (t) => {
  const once = await answered('{ things { parts { id } } }', [1, 2]);
  t.is(once.taken, 0, 'the read itself charges it');
  const often = await answered('{ things { parts { id } } }', [1, 2, 1, 1]);
  t.deepEqual(often.read, ['1,2 undefined']);
  t.is(often.taken, 4 * (96 + 12));

  const { errors } = await answered('{ things { parts { id } } }', [1, 1], 200);
  t.like(errors, { 0: { message: 'The answer is too large; ask for less at a time' }, length: 1 });
});

test('the JSON of a resolver is inserted at each place of its field in the answer', async (t) => {
  const answer = graphAnswer(answerBudget(10_000));
  const { data } = await execute({
    schema: buildSchema(`
      type Result { vectors: [[Float!]!]! broken: Int! }
      type Query { one: Result all: [Result!]! }
    `),
    document: parse(`{ one { vectors more: vectors } again: one { vectors broken } all { vectors } }`),
    rootValue: { one: result(), all: [result(), result()] },
  });
  const texts = answer.placed(data);
  t.is(texts.length, 4);
  const text = answerWriter(1_000)(data ?? {}, texts).toString();
  const vectors = [[0.5]];
  t.deepEqual(JSON.parse(text), { one: { vectors, more: vectors }, again: null, all: [{ vectors }, { vectors }] });

  function result() {
    return {
      vectors: (_: object, __: unknown, info: GraphQLResolveInfo) =>
        answer.asJson(async () => Buffer.from('[[0.5]]'), info),
      broken: () => null,
    };
  }
});

test('no more JSON is written once the budget is used up, however many places the field has', async (t) => {
  const answer = graphAnswer(answerBudget(10));
  let written = 0;
  const write = async () => {
    written += 1;
    return Buffer.from('[1,2]');
  };
  const { data, errors } = await execute({
    schema: buildSchema('type Query { list: [Int] }'),
    document: parse(`{ ${Array.from({ length: 20 }, (_, n) => `a${n}: list`).join(' ')} }`),
    rootValue: { list: (_: object, __: unknown, info: GraphQLResolveInfo) => answer.asJson(write, info) },
  });
  t.is(written, 3);
  t.is(errors?.length, 18);
  t.like(errors, { 0: { message: 'The answer is too large; ask for less at a time' } });
  t.is(answer.placed(data).length, 2);
});

import test from 'ava';
import { buildSchema, type ExecutionArgs, type ExecutionResult, parse } from 'graphql';
import { sharedResults } from './shared-results.ts';

function news(events: object[]) {
  const schema = buildSchema(
    'type Query { a: Int } type Subscription { news(after: Int): News } type News { text: String n: Int }',
  );
  const field = schema.getSubscriptionType()?.getFields().news;
  if (!field) throw new Error('The schema has no news');
  field.subscribe = async function* () {
    yield* events;
  };
  return schema;
}

function counted(text: string) {
  const event = { reads: 0, root: {} as object };
  event.root = {
    news: {
      n: 1,
      get text() {
        event.reads += 1;
        return text;
      },
    },
  };
  return event;
}

async function resultsOf(
  subscribe: ReturnType<typeof sharedResults>,
  args: ExecutionArgs,
): Promise<ExecutionResult[] | ExecutionResult> {
  const results = await subscribe(args);
  if (!('next' in results)) return results;
  const all: ExecutionResult[] = [];
  for await (const result of results) all.push(result);
  return all;
}

test('the same selection of the same event is executed once, and is the same result', async (t) => {
  const [one, two] = [counted('one'), counted('two')];
  const schema = news([one.root, two.root]);
  const subscribe = sharedResults();
  const document = parse('subscription { news { text } }');
  const first = await resultsOf(subscribe, { schema, document });
  const second = await resultsOf(subscribe, { schema, document });

  t.is(JSON.stringify(first), '[{"data":{"news":{"text":"one"}}},{"data":{"news":{"text":"two"}}}]');
  t.deepEqual(second, first);
  t.deepEqual([one.reads, two.reads], [1, 1]);
});

test('a different document, operation, variable or event is executed separately', async (t) => {
  const one = counted('one');
  const schema = news([one.root]);
  const subscribe = sharedResults();
  const ask = async (args: Omit<ExecutionArgs, 'schema'>) =>
    JSON.stringify(await resultsOf(subscribe, { schema, ...args }));
  const document = parse(`
    query Q { a } subscription A($x: Boolean = false) { news { t: text n @include(if: $x) } } subscription B { news { u: text } }`);

  t.is(await ask({ document, operationName: 'A' }), '[{"data":{"news":{"t":"one"}}}]');
  t.is(
    await ask({ document, operationName: 'A', variableValues: { x: true } }),
    '[{"data":{"news":{"t":"one","n":1}}}]',
  );
  t.is(await ask({ document, operationName: 'B' }), '[{"data":{"news":{"u":"one"}}}]');
  t.is(await ask({ document: parse('subscription { news { v: text } }') }), '[{"data":{"news":{"v":"one"}}}]');
  t.is(one.reads, 4);
  const like = news([counted('another').root]);
  const again = await resultsOf(subscribe, { schema: like, document, operationName: 'A' });
  t.is(JSON.stringify(again), '[{"data":{"news":{"t":"another"}}}]');
});

test('a null variable differs from an omitted one', async (t) => {
  const schema = news([counted('one').root]);
  const subscribe = sharedResults();
  const document = parse('subscription ($x: Boolean = true) { news { text n @include(if: $x) } }');
  const refused = await resultsOf(subscribe, { schema, document, variableValues: { x: null } });

  t.regex(JSON.stringify(refused), /must not be null/);
  const whole = await resultsOf(subscribe, { schema, document, variableValues: {} });
  t.is(JSON.stringify(whole), '[{"data":{"news":{"text":"one","n":1}}}]');
});

test('variables that only select events do not separate results', async (t) => {
  const one = counted('one');
  const schema = news([one.root]);
  const subscribe = sharedResults();
  const document = parse(`
    subscription ($after: Int, $x: Boolean!) { ...S } fragment S on Subscription { news(after: $after) @skip(if: $x) { text } }`);

  for (const after of [1, 2]) await resultsOf(subscribe, { schema, document, variableValues: { after, x: false } });
  t.is(one.reads, 1);
});

test('the results cached per event are bounded, and further selections are executed', async (t) => {
  const one = counted('one');
  const schema = news([one.root]);
  const subscribe = sharedResults();
  const documents = Array.from({ length: 40 }, (_, n) => parse(`subscription { news { t${n}: text } }`));
  const ask = async () =>
    JSON.stringify(await Promise.all(documents.map((document) => resultsOf(subscribe, { schema, document }))));

  const first = await ask();
  t.is(one.reads, 40);
  t.is(await ask(), first);
  t.is(one.reads, 40 + 24, 'those of the first 16 are kept');
});

test('a failed subscription returns its errors, and ending one reaches its source', async (t) => {
  const subscribe = sharedResults();
  const schema = news([counted('one').root, counted('two').root]);
  let ended = false;
  const field = schema.getSubscriptionType()?.getFields().news;
  const events = field?.subscribe;
  if (!field || !events) throw new Error('The schema has no news');
  field.subscribe = async function* (...about) {
    try {
      yield* (await events(...about)) as AsyncIterable<object>;
    } finally {
      ended = true;
    }
  };
  const refused = await resultsOf(subscribe, { schema, document: parse('subscription ($x: Int!) { news { text } }') });
  t.like(refused, { errors: [{ message: 'Variable "$x" of required type "Int!" was not provided.' }] });

  const results = await subscribe({ schema, document: parse('subscription { news { text } }') });
  if (!('next' in results)) throw new Error('It is refused');
  for await (const _ of results) break;
  t.true(ended);
});

import test from 'ava';
import { vectorsAsJson } from '../src/embeddings/embed.ts';
import { embedOffline } from '../src/embeddings/offline-embedding.ts';
import { startEmbeddings } from './embeddings-server.ts';
import { keyOf, retrievalUnit, userOf } from './retrieval-unit.ts';

const query = `query ($texts: [String!]!) { embed(texts: $texts) { vectors usage { inputTokens outputTokens costUsd } } }`;

interface Embedded {
  vectors: number[][];
  usage: { inputTokens: number; outputTokens: number; costUsd: number };
}

const embedded = (data: unknown) => (data as { embed: Embedded }).embed;

test('unit vectors of 768 numbers are returned in the order of the texts, with the usage', async (t) => {
  const { graph } = await retrievalUnit(t);
  const texts = Array.from({ length: 100 }, (_, at) => `text number ${at}`);
  const { data } = await graph(keyOf(1), query, { texts });
  const { vectors, usage } = embedded(data);
  t.is(vectors.length, 100);
  for (const [at, vector] of vectors.entries()) {
    t.deepEqual(Float32Array.from(vector), embedOffline(texts[at] ?? ''));
    t.true(Math.abs(vector.reduce((sum, each) => sum + each * each, 0) - 1) < 1e-5);
  }
  t.deepEqual(usage, { inputTokens: 348, outputTokens: 0, costUsd: 0 });
});

test('other work can run while vectors are serialized', async (t) => {
  const vectors = Array.from({ length: 100 }, (_, at) => embedOffline(`text number ${at}`));
  let rounds = 0;
  const written = vectorsAsJson(vectors);
  const others = () => {
    rounds += 1;
    next = setImmediate(others);
  };
  let next = setImmediate(others);
  const json = await written.finally(() => clearImmediate(next));
  t.deepEqual(
    (JSON.parse(json.toString()) as number[][]).map((each) => Float32Array.from(each)),
    vectors,
  );
  t.true(rounds >= 15, `${rounds}`);
});

test('vectors are serialized with the digits of single precision, exact to the last bit', async (t) => {
  const dense = Float32Array.from({ length: 768 }, (_, at) => Math.sin(at + 1) / 20);
  const edges = Float32Array.from([0, 1, -1, 1 / 3, 2 ** -14, -(2 ** -24), 2 ** -149]);
  const json = (await vectorsAsJson([dense, edges])).toString();
  t.deepEqual(
    (JSON.parse(json) as number[][]).map((each) => Float32Array.from(each)),
    [dense, edges],
  );
  t.true(json.length / 768 < 15, `${json.length} characters`); // written as doubles, each number would take 20 characters or more
});

test('with an endpoint, its model embeds at its price', async (t) => {
  const server = await startEmbeddings(t);
  const { graph, ledger } = await retrievalUnit(t, { env: { EMBEDDINGS_URL: server.url } });
  const { data } = await graph(keyOf(1), query, { texts: ['one', 'two'] });
  t.deepEqual(embedded(data).usage, { inputTokens: 6, outputTokens: 0, costUsd: 1.2e-7 });
  // allow-name embed: the operation's name in the ledger
  t.like(ledger.reserved, [{ call: { operation: 'embed', apiKeyId: 9, modelId: 'text-embedding-3-small' } }]);
});

test('1 to 100 texts of at most 32,000 characters are accepted, and blank texts are refused', async (t) => {
  const { graph } = await retrievalUnit(t);
  const refused = async (texts: string[]) => {
    const { errors } = await graph(keyOf(1), query, { texts });
    return errors?.[0]?.extensions;
  };
  const count = { path: 'texts', message: 'must have 1 to 100 elements' };
  t.like(await refused([]), { code: 'BAD_REQUEST', fields: [count] });
  t.like(await refused(Array.from({ length: 101 }, () => 'a')), { fields: [count] });
  t.like(await refused(['a', '  ', 'c', '']), {
    code: 'BAD_REQUEST',
    fields: [
      { path: 'texts.1', message: 'must not be blank' },
      { path: 'texts.3', message: 'must not be blank' },
    ],
  });
  t.like(await refused(['🦜'.repeat(32_001)]), { fields: [{ path: 'texts.0' }] });
  t.is(await refused(['🦜'.repeat(32_000)]), undefined);
});

test('embed accepts only API keys; at the spend cap it is BAD_REQUEST and nothing is sent', async (t) => {
  const server = await startEmbeddings(t);
  const { graph, ledger } = await retrievalUnit(t, { env: { EMBEDDINGS_URL: server.url } });
  t.is((await graph(userOf(1), query, { texts: ['a'] })).errors?.[0]?.extensions['code'], 'UNAUTHENTICATED');
  ledger.atCap = true;
  const { errors } = await graph(keyOf(1), query, { texts: ['a'] });
  t.like(errors?.[0]?.extensions, { code: 'BAD_REQUEST', reason: 'SPEND_CAP_REACHED' });
  t.is(server.requests.length, 0);
});

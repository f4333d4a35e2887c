import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { dimensions, misconfigurationOf } from './embedder.ts';
import { embeddingsEndpoint } from './embeddings-endpoint.ts';

interface Asked {
  path: string | undefined;
  headers: IncomingHttpHeaders;
  body: { model: string; input: string[]; dimensions: number };
}

interface Answer {
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
  cut?: boolean;
}

const vectorOf = (first: number) => [first, ...Array.from({ length: dimensions - 1 }, () => 1)];
const embedded = (texts: string[]) => ({
  data: texts.map((_, index) => ({ index, embedding: vectorOf(index + 1) })),
  usage: { prompt_tokens: 7 },
});
const key = 'sk-very-secret';

async function endpoint(t: ExecutionContext, answer: (asked: Asked, at: number) => Answer, timeoutMs = 5_000) {
  const requests: Asked[] = [];
  const logged: unknown[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const asked = { path: request.url, headers: request.headers, body: JSON.parse(Buffer.concat(chunks).toString()) };
    requests.push(asked);
    const { status = 200, headers, body, cut } = answer(asked, requests.length - 1);
    if (cut) return response.destroy();
    if (status === 0) return undefined;
    return response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const log = (...line: unknown[]) => void logged.push(line);
  const url = `http://127.0.0.1:${port}/v1/`;
  const settings = { url, key, model: 'embedder', maxTokens: undefined, timeoutMs, callsAtOnce: 4 };
  const asking = embeddingsEndpoint(settings, { warn: log, error: log } as never);
  t.teardown(async () => {
    await asking.close();
    server.close();
    server.closeAllConnections();
  });
  return { asking, requests, logged, url };
}

test('a request has the key and asks for 768 dimensions; unit vectors are returned in the order of the texts, by index', async (t) => {
  const { asking, requests } = await endpoint(t, ({ body }) => {
    const { data, ...rest } = embedded(body.input);
    return { body: { data: data.toReversed(), ...rest } };
  });
  const { vectors, tokensIn } = await asking.embed(['a', 'b', 'c'], 'embedder');
  t.is(tokensIn, 7);
  t.deepEqual(
    vectors.map((vector) => Math.round((vector[0] ?? 0) / (vector[1] ?? 1))),
    [1, 2, 3],
  );
  for (const vector of vectors) t.true(Math.abs(vector.reduce((sum, each) => sum + each * each, 0) - 1) < 1e-5);
  t.like(requests[0], {
    path: '/v1/embeddings',
    body: { model: 'embedder', input: ['a', 'b', 'c'], dimensions },
  });
  t.is(requests[0]?.headers.authorization, `Bearer ${key}`);
});

test('a response without usage has no count of tokens', async (t) => {
  const { asking } = await endpoint(t, ({ body }) => ({ body: { data: embedded(body.input).data } }));
  t.is((await asking.embed(['a'], 'embedder')).tokensIn, undefined);
});

for (const [what, body] of [
  ['too few', { data: [] }],
  ['too many', { data: [0, 1].map((index) => ({ index, embedding: vectorOf(1) })) }],
  ['another number of dimensions', { data: [{ index: 0, embedding: [1, 2, 3] }] }],
  ['an index that is not there', { data: [{ index: 5, embedding: vectorOf(1) }] }],
  ['only zeros', { data: [{ index: 0, embedding: vectorOf(1).map(() => 0) }] }],
  ['something that is no number', { data: [{ index: 0, embedding: vectorOf(1).map(String) }] }],
  ['numbers beyond a double', `{"data":[{"index":0,"embedding":[1e999${',1'.repeat(767)}]}]}`],
  ['no JSON', '<html>'],
  ['no vectors', { error: 'none' }],
] as const) {
  test(`an answer with ${what} is UNAVAILABLE`, async (t) => {
    const { asking } = await endpoint(t, () => ({ body }));
    t.like(await t.throwsAsync(asking.embed(['a'], 'embedder')), { kind: 'unavailable' });
  });
}

test('429 and 5xx are retried after Retry-After', async (t) => {
  const { asking, requests } = await endpoint(t, ({ body }, at) => {
    if (at === 0) return { status: 429, headers: { 'retry-after': '0' } };
    return at === 1 ? { status: 503, headers: { 'retry-after': '0' } } : { body: embedded(body.input) };
  });
  t.is((await asking.embed(['a'], 'embedder')).vectors.length, 1);
  t.is(requests.length, 3);
});

test('a long Retry-After, and a third failure, are UNAVAILABLE', async (t) => {
  const long = await endpoint(t, () => ({ status: 429, headers: { 'retry-after': '300' } }));
  t.like(await t.throwsAsync(long.asking.embed(['a'], 'embedder')), { kind: 'unavailable' });
  t.is(long.requests.length, 1);
  const failing = await endpoint(t, () => ({ status: 500, headers: { 'retry-after': '0' } }));
  t.like(await t.throwsAsync(failing.asking.embed(['a'], 'embedder')), { kind: 'unavailable' });
  t.is(failing.requests.length, 3);
});

test('a lost connection is retried, and an endpoint that does not respond is UNAVAILABLE', async (t) => {
  const lost = await endpoint(t, ({ body }, at) => (at === 0 ? { cut: true } : { body: embedded(body.input) }));
  t.is((await lost.asking.embed(['a'], 'embedder')).vectors.length, 1);
  const silent = await endpoint(t, () => ({ status: 0 }), 50);
  t.like(await t.throwsAsync(silent.asking.embed(['a'], 'embedder')), { kind: 'unavailable' });
});

test('a response larger than 8 MiB is not read', async (t) => {
  const { asking } = await endpoint(t, ({ body }) => ({
    body: { ...embedded(body.input), more: 'x'.repeat(9_000_000) },
  }));
  t.like(await t.throwsAsync(asking.embed(['a'], 'embedder')), { kind: 'unavailable' });
});

test('texts that the model refuses are BAD_REQUEST; refused credentials are UNAVAILABLE', async (t) => {
  const { asking, requests } = await endpoint(t, (_, at) => ({ status: at === 0 ? 400 : 401, body: { error: 'no' } }));
  t.like(await t.throwsAsync(asking.embed(['a'], 'embedder')), { kind: 'invalid', reason: 'EMBEDDING_REFUSED' });
  t.like(await t.throwsAsync(asking.embed(['a'], 'embedder')), { kind: 'unavailable' });
  t.is(requests.length, 2);
});

test('a refused key, a wrong address and a response without vectors are misconfigurations, an outage is not', async (t) => {
  const isMisconfiguredBy = async (answer: Answer, model = 'embedder') => {
    const { asking } = await endpoint(t, () => ({ headers: { 'retry-after': '0' }, ...answer }));
    const error = await t.throwsAsync(asking.embed(['a'], model));
    t.like(error, { kind: 'unavailable' });
    t.notRegex(error?.message ?? '', /40\d|127\.0|secret/u);
    return misconfigurationOf(error) === 'settings';
  };
  for (const status of [401, 403, 404, 301, 501]) t.true(await isMisconfiguredBy({ status }), `${status}`);
  t.true(await isMisconfiguredBy({ status: 401 }, 'earlier'));
  t.true(await isMisconfiguredBy({ body: { data: [] } }));
  for (const status of [429, 503, 507, 522]) t.false(await isMisconfiguredBy({ status }), `${status}`);
  t.false(await isMisconfiguredBy({ cut: true }));
  t.false(await isMisconfiguredBy({ status: 404 }, 'earlier'));
});

test('an account without quota is not retried, and its error is for the operator, whatever the model', async (t) => {
  const ofOpenAi = (code: string) => ({ status: 429, body: { error: { message: 'no', type: code, code } } });
  for (const answer of [
    { status: 402 },
    ofOpenAi('insufficient_quota'),
    { status: 429, body: { error: { type: 'insufficient_quota', code: null } } },
  ]) {
    for (const model of ['embedder', 'earlier']) {
      const { asking, requests } = await endpoint(t, () => ({ headers: { 'retry-after': '0' }, ...answer }));
      const error = await t.throwsAsync(asking.embed(['a'], model), {
        message: 'The embeddings endpoint does not answer',
      });
      t.is(misconfigurationOf(error), 'account');
      t.is(requests.length, 1);
    }
  }
  const limited = await endpoint(t, () => ({ headers: { 'retry-after': '0' }, ...ofOpenAi('rate_limit_exceeded') }));
  t.is(misconfigurationOf(await t.throwsAsync(limited.asking.embed(['a'], 'embedder'))), undefined);
  t.is(limited.requests.length, 3);
});

test('an earlier model that the endpoint no longer serves is UNAVAILABLE with the reason', async (t) => {
  const { asking } = await endpoint(t, () => ({ status: 404 }));
  const error = await t.throwsAsync(asking.embed(['a'], 'earlier'), { message: /earlier is no longer served/ });
  t.like(error, { kind: 'unavailable' });
});

test('neither errors nor logs contain the key, the address, the texts or the response of the endpoint', async (t) => {
  const { asking, logged, url } = await endpoint(t, (_, at) => {
    if (at === 1) return { cut: true };
    return { status: at === 0 ? 503 : 401, headers: { 'retry-after': '0' }, body: `${key} said of my text` };
  });
  const error = await t.throwsAsync(asking.embed(['my text'], 'embedder'));
  const all = JSON.stringify([error?.message, (error as { fields?: unknown }).fields, logged]);
  for (const secret of [key, new URL(url).host, 'my text']) t.false(all.includes(secret), all);
});

test('cancelling a call ends its request', async (t) => {
  const leaving = new AbortController();
  const { asking } = await endpoint(t, () => {
    leaving.abort(new Error('left'));
    return { status: 0 };
  });
  await t.throwsAsync(asking.embed(['a'], 'embedder', leaving.signal), { message: 'left' });
});

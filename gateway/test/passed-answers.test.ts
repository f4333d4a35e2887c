import { text as textOf } from 'node:stream/consumers';
import { badRequest, DomainError, unavailable } from '@parley/kernel/errors';
import test, { type ExecutionContext } from 'ava';
import { type Asked, codesOf, type GatewayMeshOptions, gatewayMesh } from './support/gateway-mesh.ts';
import { rawServer } from './support/raw-server.ts';

// allow-name embed: the query with @passedThrough.

/** Valid JSON in an unusual format, which only the test's subgraph writes. */
const oddNumbers = '{"data":{"embed":{"vectors":[[1.50,2e0]]}}}\n';
const vectors = '{ embed(texts: ["a"]) { vectors } }';

interface Received {
  query: string;
  variables?: Record<string, unknown>;
}

/** Starts a gateway with a subgraph that returns this text. Each request has another client address, so that none is throttled. */
async function passing(
  t: ExecutionContext,
  answer: string | ((asked: Received) => string),
  options: GatewayMeshOptions = {},
) {
  const received: Received[] = [];
  const url = await rawServer(t, async (request, response) => {
    const asked = JSON.parse(await textOf(request)) as Received;
    received.push(asked);
    response.setHeader('content-type', 'application/json').end(typeof answer === 'string' ? answer : answer(asked));
  });
  return { received, ...(await keyed(t, { graphUrls: { knowledge: url }, ...options })) };
}

async function keyed(t: ExecutionContext, options: GatewayMeshOptions) {
  const mesh = await gatewayMesh(t, { ...options, env: { TRUSTED_PROXIES: '127.0.0.1', ...options.env } });
  mesh.identity.addApiKey('sk_right', { apiKeyId: 1, tenantId: 1, tenantSuspended: false });
  let clients = 0;
  const from = (): Record<string, string> => ({ 'x-forwarded-for': `203.0.113.${(clients += 1)}` });
  return {
    ...mesh,
    ask: (query: string, asked: Asked = {}) =>
      mesh.ask(query, { apiKey: 'sk_right', ...asked, headers: { ...from(), ...asked.headers } }),
    post: (body: object) => mesh.post(JSON.stringify(body), { 'x-api-key': 'sk_right', ...from() }),
  };
}

const embedding = {
  Query: {
    embed: (_: unknown, { texts }: { texts: string[] }) => ({
      vectors: texts.map((text) => [text.length, 0.1]),
      usage: { inputTokens: texts.length, outputTokens: 0, costUsd: 0.5 },
    }),
  },
};

test('the answer of a query with @passedThrough reaches the client as the bytes of its subgraph', async (t) => {
  const { ask, received } = await passing(t, oddNumbers);
  const answer = await ask(vectors);
  t.is(answer.text, oddNumbers);
  t.is(answer.status, 200);
  t.is(answer.headers.get('content-type'), 'application/json; charset=utf-8');
  t.truthy(answer.headers.get('ratelimit'));
  t.truthy(answer.headers.get('x-request-id'));
  t.is(received.length, 1);
});

test('the gateway composes the answer itself if the query has several selections or conditions', async (t) => {
  const { ask } = await passing(t, oddNumbers);
  const written = { embed: { vectors: [[1.5, 2]] } };
  const queries: [string, object][] = [
    [`{ ... on Query ${vectors} }`, written],
    [`query { ...all } fragment all on Query ${vectors}`, written],
    ['{ embed(texts: ["a"]) @include(if: true) { vectors } }', written],
    ['{ embed(texts: ["a"]) @skip(if: false) { vectors } }', written],
    ['{ __typename embed(texts: ["a"]) { vectors } }', { __typename: 'Query', ...written }],
    ['{ embed(texts: ["a"]) { vectors } embed(texts: ["a"]) { vectors } }', written],
  ];
  for (const [query, data] of queries) {
    const answer = await ask(query);
    t.deepEqual(answer.data, data, query);
    t.false(answer.text.includes('1.50'), query);
  }
  t.deepEqual((await ask('{ embed(texts: ["a"]) @skip(if: true) { vectors } }')).data, {});
});

test('aliases, fragments, conditions, type names and variables are answered as the gateway itself would', async (t) => {
  const { ask } = await keyed(t, { resolvers: { knowledge: embedding } });
  const selections: [string, Record<string, unknown>?][] = [
    ['{ FIELD: embed(texts: ["a", "bb"]) { vectors usage { costUsd inputTokens } } }'],
    ['{ a: embed(texts: ["a"]) { b: vectors c: usage { d: costUsd e: costUsd } __typename } }'],
    [
      'query { embed(texts: []) { ...f } } fragment f on EmbedResultDto { vectors usage { ...g } } fragment g on EmbedUsageDto { inputTokens }',
    ],
    ['{ embed(texts: "one") { ... on EmbedResultDto { vectors } ... { usage { outputTokens } } } }'],
    ['query ($t: [String!]!) { embed(texts: $t) { vectors } }', { t: ['a', 'ü', '"errors"'] }],
    ['query ($t: [String!]! = ["default"]) { embed(texts: $t) { vectors } }'],
    [
      'query ($t: [String!]!, $yes: Boolean!, $no: Boolean = false) { embed(texts: $t) { vectors @include(if: $no) usage @skip(if: $no) { __typename costUsd @include(if: $yes) } } }',
      { t: ['a'], yes: true, other: 'not declared' },
    ],
    ['{ errors: embed(texts: ["a"]) { extensions: vectors } }'],
  ];
  for (const [query, variables] of selections) {
    const normal = query
      .replace('embed(', '... on Query { embed(')
      .replace(/\b(\w+): \.\.\. on Query \{ /u, '... on Query { $1: ');
    const asWritten = normal.replace(/\}(?= fragment|$)/u, '} }');
    const given = variables ? { variables } : {};
    const [passed, wrote] = [await ask(query, given), await ask(asWritten, given)];
    t.is(wrote.errors, undefined, asWritten);
    t.is(passed.text, wrote.text, query);
  }
});

test('of several operations the one that is named is sent, with its fragments and variables only', async (t) => {
  const { post, received } = await passing(t, oddNumbers);
  const query = `
    query First($a: [String!]!) { embed(texts: $a) { ...f } }
    query Second($b: [String!]!) { embed(texts: $b) { ...g } }
    fragment f on EmbedResultDto { vectors }
    fragment g on EmbedResultDto { usage { costUsd } }
  `;
  t.is((await post({ query, operationName: 'First', variables: { a: ['x'], b: ['y'], c: 1 } })).text, oddNumbers);
  t.deepEqual(received[0]?.variables, { a: ['x'] });
  t.regex(received[0]?.query ?? '', /^query First.*fragment f/su);
  t.notRegex(received[0]?.query ?? '', /Second|fragment g/u);
  t.deepEqual(codesOf(await post({ query, operationName: 'Third' })), ['OPERATION_RESOLUTION_FAILURE']);
  const withDefault = 'query ($t: [String!]! = ["a"]) { embed(texts: $t) { vectors } }';
  for (const variables of [null, undefined, {}])
    t.is((await post({ query: withDefault, variables })).text, oddNumbers, String(variables));
  t.deepEqual(codesOf(await post({ query })), ['OPERATION_RESOLUTION_FAILURE']);
});

test('every check that may refuse a request runs before the subgraph is called', async (t) => {
  const { ask, received, identity } = await passing(t, oddNumbers);
  t.deepEqual(codesOf(await ask(vectors, { apiKey: 'sk_wrong' })), ['UNAUTHENTICATED']);
  const token = await identity.signIn('s-1');
  t.deepEqual(codesOf(await ask(vectors, { apiKey: undefined as never, token })), ['UNAUTHENTICATED']);
  t.deepEqual(codesOf(await ask('{ embed(texts: ["\\u0000"]) { vectors } }')), ['BAD_REQUEST']);
  const wrong = await ask('query ($t: [String!]!) { embed(texts: $t) { vectors } }', { variables: { t: [1] } });
  t.deepEqual(codesOf(wrong), ['BAD_USER_INPUT']);
  const headers = { 'x-forwarded-for': '198.51.100.7' };
  for (let call = 1; call <= 10; call += 1) t.is((await ask(vectors, { headers })).status, 200);
  const refused = await ask(vectors, { headers });
  t.is(refused.status, 429);
  t.truthy(refused.headers.get('retry-after'));
  t.is(received.length, 10);
});

test('errors of the subgraph are those that the gateway would write, and the subgraph is asked once', async (t) => {
  let thrown: Error = new Error('unset');
  let calls = 0;
  const { ask } = await keyed(t, {
    resolvers: {
      knowledge: {
        Query: {
          embed() {
            calls += 1;
            throw thrown;
          },
        },
      },
    },
  });
  const mistakes = [
    badRequest('Monthly LLM spend cap reached', 'SPEND_CAP_REACHED'),
    unavailable('No endpoint answers'),
    new DomainError('tooManyRequests', 'Too many'),
    new Error('secret of 10.0.0.7'),
  ];
  for (thrown of mistakes) {
    const before = calls;
    const passed = await ask(vectors);
    t.is(calls, before + 1);
    const wrote = await ask(`{ ... on Query ${vectors} }`);
    t.is(passed.text, wrote.text, thrown.message);
    t.is(passed.status, wrote.status);
    t.is(passed.errors?.length, 1);
    t.false(passed.text.includes('secret'));
  }
});

test('a response with more than data, or that is no GraphQL result, is never passed on', async (t) => {
  const answers: [string, Partial<Record<'data' | 'code', unknown>>][] = [
    ['no JSON: secret', { code: 'INTERNAL' }],
    ['{"data":{"embed":{"vectors":[[1.50]]}', { code: 'INTERNAL' }],
    ['[]', { code: 'INTERNAL' }],
    ['{"data":"secret"}', { code: 'INTERNAL' }],
    ['{"errors":[{"message":"secret at 10.0.0.7"}],"data":null}', { code: 'INTERNAL' }],
    ['{"data":{"embed":null},"errors":[{"message":"secret"}]}', { code: 'INTERNAL' }],
    [
      '{"data":{"embed":{"vectors":[[1.50]]}},"extensions":{"secret":"secret"}}',
      { data: { embed: { vectors: [[1.5]] } } },
    ],
    [' {"data":{"embed":{"vectors":[[1.50]],"secret":1}}}', { data: { embed: { vectors: [[1.5]] } } }],
  ];
  let answer = '';
  const { ask, received } = await passing(t, () => answer);
  for (const [text, { data, code }] of answers) {
    answer = text;
    const before = received.length;
    const passed = await ask(vectors);
    t.false(passed.text.includes('secret'), text);
    t.deepEqual(codesOf(passed), code ? [code] : [], text);
    if (data) t.deepEqual(passed.data, data as never, text);
    t.is(received.length, before + 1, text);
  }
});

test('an unreachable subgraph is UNAVAILABLE, and an answer over the limit is refused', async (t) => {
  const unreachable = await passing(t, oddNumbers, { graphUrls: { knowledge: 'http://127.0.0.1:1' } });
  t.deepEqual(codesOf(await unreachable.ask(vectors)), ['UNAVAILABLE']);
  const long = `{"data":{"embed":{"vectors":[[${'1,'.repeat(1_000)}1]]}}}`;
  const { ask } = await passing(t, long, { env: { GATEWAY_MAX_ANSWER_BYTES: '2000' } });
  const answer = await ask(vectors);
  t.like(answer.errors?.[0]?.extensions, { code: 'BAD_REQUEST', reason: 'ANSWER_TOO_LARGE' });
});

test('a retry with an Idempotency-Key gets a short answer again; a long one is not kept, and not computed twice', async (t) => {
  let calls = 0;
  const { ask } = await keyed(t, {
    env: { GATEWAY_MAX_KEPT_ANSWER_BYTES: '1000' },
    resolvers: {
      knowledge: {
        Query: {
          embed(_: unknown, { texts }: { texts: string[] }) {
            calls += 1;
            return { vectors: texts.map(() => [calls]) };
          },
        },
      },
    },
  });
  const embed = (key: string, texts: string[]) =>
    ask('query ($t: [String!]!) { embed(texts: $t) { vectors } }', {
      variables: { t: texts },
      headers: { 'idempotency-key': key },
    });
  const short = [await embed('short', ['a']), await embed('short', ['a'])];
  t.deepEqual(
    short.map(({ data }) => data),
    [{ embed: { vectors: [[1]] } }, { embed: { vectors: [[1]] } }],
  );
  const many = Array.from({ length: 500 }, () => 'a');
  t.deepEqual((await embed('long', many)).data, { embed: { vectors: many.map(() => [2]) } });
  t.like((await embed('long', many)).errors?.[0]?.extensions, { code: 'CONFLICT', reason: 'ANSWER_NOT_KEPT' });
  t.is(calls, 2);
});

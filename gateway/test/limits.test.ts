import test from 'ava';
import { getIntrospectionQuery } from 'graphql';
import { codesOf, gatewayMesh } from './support/gateway-mesh.ts';

const aliases = (count: number) => `{ ${Array.from({ length: count }, (_, i) => `a${i}: agentCount`).join(' ')} }`;
const resolvers = { agent: { Query: { agentCount: () => 2 } } };

test('fifty fields are served and fifty-one refused, before credentials are looked at', async (t) => {
  const { ask, identity, reached } = await gatewayMesh(t, { resolvers });
  const token = await identity.signIn('s-1');
  const served = await ask(aliases(50), { token });
  t.is(served.status, 200);
  t.is(Object.keys(served.data ?? {}).length, 50);
  reached.length = 0;
  identity.asked.length = 0;

  const refused = await ask(aliases(51), { token });
  t.is(refused.status, 400);
  t.deepEqual(refused.errors, [
    {
      message: 'The operation selects 51 fields; at most 50 are allowed',
      extensions: { code: 'COMPLEXITY_LIMIT', statusCode: 400 },
    },
  ]);
  t.deepEqual(reached, []);
  t.deepEqual(identity.asked, []);
});

test('eight levels are refused, whether the schema has them or not', async (t) => {
  const { ask } = await gatewayMesh(t);
  const nested = (levels: number) => `${'{ a '.repeat(levels)}${'}'.repeat(levels)}`;
  const refused = await ask(nested(8));
  t.is(refused.status, 400);
  t.deepEqual(refused.errors, [
    {
      message: 'The operation is 8 levels deep; at most 7 are allowed',
      extensions: { code: 'DEPTH_LIMIT', statusCode: 400 },
    },
  ]);
  t.deepEqual(codesOf(await ask(nested(7))), ['GRAPHQL_VALIDATION_FAILED']);
});

test('the whole schema can be introspected, to the depth that graphql-js allows', async (t) => {
  const { ask } = await gatewayMesh(t);
  const { data, errors } = await ask(getIntrospectionQuery({ schemaDescription: true, inputValueDeprecation: true }));
  t.is(errors, undefined);
  t.truthy(data?.__schema);
  const ring = '{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }';
  const refused = await ask(ring);
  t.is(refused.status, 400);
  t.deepEqual(codesOf(refused), ['GRAPHQL_VALIDATION_FAILED']);
});

test('limits are settings', async (t) => {
  const { ask } = await gatewayMesh(t, {
    env: { GATEWAY_MAX_DEPTH: '1', GATEWAY_MAX_COMPLEXITY: '2', GATEWAY_MAX_SELECTIONS: '3', GATEWAY_MAX_TOKENS: '20' },
  });
  const codeOf = async (query: string) => codesOf(await ask(query))[0];
  t.is(await codeOf('{ a { b } }'), 'DEPTH_LIMIT');
  t.is(await codeOf('{ a b c }'), 'COMPLEXITY_LIMIT');
  t.is(await codeOf('{ __schema { a { b { c } } } }'), 'COMPLEXITY_LIMIT');
  t.is(await codeOf(`{ ${'a '.repeat(30)} }`), 'GRAPHQL_PARSE_FAILED');
});

test('errors are bounded in length and number', async (t) => {
  const { ask } = await gatewayMesh(t);
  const long = await ask(`{ ${'a'.repeat(100_000)} }`);
  t.true(long.text.length < 2_000);
  const many = await ask(`{ ${Array.from({ length: 50 }, (_, i) => `x${i}`).join(' ')} }`);
  t.is(many.errors?.length, 21, 'the last says that there are more');
});

test('strings that cannot be stored are refused for every operation, by path, before anything runs', async (t) => {
  const { ask, identity, reached } = await gatewayMesh(t);
  const token = await identity.signIn('s-1');
  const nul = 'must not hold the character NUL';
  const half = 'must not hold half of a surrogate pair';
  const start = 'mutation ($input: StartSessionInput!) { startSession(input: $input) { id } }';
  const input = { agentId: 1, clientExternalId: 'c' };
  const cases: [string, Record<string, unknown> | undefined, { path: string; message: string }[]][] = [
    [start, { input: { ...input, clientExternalId: 'a\0' } }, [{ path: 'input.clientExternalId', message: nul }]],
    [
      start,
      { input: { ...input, metadata: { a: [{ b: '\ud800' }] } } },
      [{ path: 'input.metadata.a.0.b', message: half }],
    ],
    [
      start,
      { input: { ...input, metadata: { '\0': 1 } } },
      [{ path: 'input.metadata', message: `has a key that ${nul}` }],
    ],
    ['query ($id: ID!) { agent(id: $id) { id } }', { id: '1\0' }, [{ path: 'id', message: nul }]],
    ['{ agent(id: "\\u0000") { id } }', undefined, [{ path: 'id', message: nul }]],
    ['{ agentCount }', { unused: '\udfff' }, [{ path: 'unused', message: half }]],
  ];
  for (const [query, variables, fields] of cases) {
    const answer = await ask(query, { token, ...(variables && { variables }) });
    t.is(answer.status, 200, query);
    t.like(answer.errors?.[0]?.extensions, { code: 'BAD_REQUEST', statusCode: 400, fields }, query);
  }
  t.is(reached.length, 0);
});

test('deeply nested JSON is refused by path, and prototype keys are ordinary keys', async (t) => {
  const { post, identity, reached } = await gatewayMesh(t, {
    resolvers: {
      session: {
        Mutation: {
          startSession: (_: unknown, { input }: { input: { metadata: object } }) => ({
            id: 1,
            metadata: input.metadata,
          }),
        },
      },
    },
  });
  const authorization = `Bearer ${await identity.signIn('s-1')}`;
  const query = 'mutation ($input: StartSessionInput!) { startSession(input: $input) { metadata } }';
  const start = (metadata: string) =>
    post(
      `{"query":${JSON.stringify(query)},"variables":{"input":{"agentId":1,"clientExternalId":"c","metadata":${metadata}}}}`,
      { authorization },
    );
  const deep = await start(`{"a":${'['.repeat(5_000)}${']'.repeat(5_000)}}`);
  t.is(deep.status, 400);
  t.like(deep.errors?.[0]?.extensions, { code: 'BAD_REQUEST' });
  t.is(reached.length, 0);

  for (const part of ['0', '[]', '{}', '{"a":0}', '""']) {
    const full = `[${`${part},`.repeat(64_000 / (part.length + 1))}0]`;
    t.true((await start(`{"full":${full}}`)).text.includes(full), '64 KB of metadata, however many values they hold');
  }

  const odd = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}';
  const kept = await start(odd);
  t.true(kept.text.includes(odd), kept.text);
  t.is(Reflect.get({}, 'polluted'), undefined);
});

test('prototype names are ordinary names', async (t) => {
  const { ask, identity } = await gatewayMesh(t, {
    resolvers: {
      agent: { Query: { agent: (_: unknown, { id }: { id: string }) => ({ id: Number(id), name: `n${id}` }) } },
    },
  });
  const token = await identity.signIn('s-1');
  for (const name of ['constructor', 'toString', 'hasOwnProperty']) {
    const query = `query ${name}($${name}: ID!) { ${name}: agent(id: $${name}) { ${name}: name } }`;
    const answer = await ask(query, { token, variables: { [name]: 7 } });
    t.deepEqual(JSON.parse(answer.text), { data: { [name]: { [name]: 'n7' } } });
  }
  const proto = await ask('query ($id: ID!) { __proto__: agent(id: $id) { name } }', { token, variables: { id: 7 } });
  t.false(
    (proto.errors ?? []).some(({ extensions }) => extensions.code === 'INTERNAL'),
    proto.text,
  );
});

test('bodies come uncompressed and in UTF-8', async (t) => {
  const { post, reached } = await gatewayMesh(t);
  const body = '{"query":"{ __typename }"}';
  for (const encoding of ['gzip', 'br', 'deflate', 'zstd', 'gzip, gzip', 'x']) {
    t.is((await post(body, { 'content-encoding': encoding })).status, 415, encoding);
  }
  t.is((await post(body, { 'content-encoding': 'identity' })).status, 200);
  for (const charset of ['utf-16', 'latin1', 'x']) {
    t.is((await post(body, { 'content-type': `application/json; charset=${charset}` })).status, 415, charset);
  }
  t.is((await post(body, { 'content-type': 'application/json; charset="UTF-8"' })).status, 200);
  t.is(reached.length, 0);
});

test('a response composed of several subgraph responses is bounded as a whole', async (t) => {
  const text = 'x'.repeat(8_000);
  const { ask, identity } = await gatewayMesh(t, {
    env: { GATEWAY_MAX_ANSWER_BYTES: '20000' },
    resolvers: {
      agent: {
        Query: { agentConfigOptions: () => ({ ttsVoiceCatalogUrl: text }) },
        AgentDto: { __resolveReference: ({ id }: { id: number }) => ({ id, name: text }) },
      },
      session: {
        Query: {
          session: () => ({ id: 1, clientExternalId: text, agentId: 1, agent: { id: 1 } }),
          sessions: () => Array.from({ length: 5 }, (_, i) => ({ id: i, agentId: 1, agent: { id: 1 } })),
        },
      },
    },
  });
  const token = await identity.signIn('s-1');
  const options = 'agentConfigOptions { ttsVoiceCatalogUrl }';
  t.is((await ask(`{ ${options} session(id: 1) { clientExternalId } }`, { token })).errors, undefined);
  const tooLarge = { code: 'BAD_REQUEST', statusCode: 400, reason: 'ANSWER_TOO_LARGE' };
  for (const query of [
    `{ ${options} session(id: 1) { clientExternalId agent { name } } }`,
    '{ sessions { agent { name } } }', // the same agent of 8 KB five times
    `{ a: ${options} b: ${options} c: ${options} }`,
  ]) {
    const answer = await ask(query, { token });
    t.is(answer.status, 200);
    t.true(answer.text.length < 20_000, query);
    t.deepEqual(answer.errors?.[0]?.extensions, tooLarge, query);
  }
});

test('a body of 1 to 8 MB is accepted only for an operation with @longBody', async (t) => {
  const resolvers = { agent: { Mutation: { createAgent: () => ({ id: 1 }) } } };
  // allow-name createAgent: the operation that this gateway's schema gets @longBody on.
  const { post, identity, reached } = await gatewayMesh(t, { resolvers, directives: { createAgent: '@longBody' } });
  const authorization = `Bearer ${await identity.signIn('s-1')}`;
  const sent = (query: string, bytes: number) =>
    post(JSON.stringify({ query, variables: { text: 'x'.repeat(bytes) } }), { authorization });
  const long =
    'mutation ($text: String!) { createAgent(input: { name: "Ada", personaPrompt: $text, position: "Guide" }) { id } }';
  for (const bytes of [1_100_000, 7_900_000]) t.deepEqual((await sent(long, bytes)).data, { createAgent: { id: 1 } });
  t.is((await sent(long, 8_500_000)).status, 413);
  t.is(reached.length, 2);

  const short = 'mutation ($text: String!) { createTenant(input: { name: $text }) { id } }';
  t.is((await sent(short, 1_100_000)).status, 413);
  t.is((await sent(`#createAgent\n${short}`, 1_100_000)).status, 413, 'naming one is not asking for it');
  t.is(reached.length, 2);
});

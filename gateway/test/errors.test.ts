import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { conflict, DomainError, forbidden, invalid, notFound, unavailable } from '@parley/kernel/errors';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { GraphQLError } from 'graphql';
import { codesOf, gatewayMesh } from './support/gateway-mesh.ts';
import { rawServer } from './support/raw-server.ts';

const count = '{ agentCount }';
const masked = { message: 'Something went wrong on our side', extensions: { code: 'INTERNAL', statusCode: 500 } };

test('a refusal of a subgraph reaches the client unchanged, with HTTP status 200', async (t) => {
  let thrown: Error = new Error('unset');
  const fail = () => {
    throw thrown;
  };
  const { ask, identity } = await gatewayMesh(t, {
    resolvers: { agent: { Query: { agentCount: fail, agent: fail }, Mutation: { deleteAgent: fail } } },
  });
  const token = await identity.signIn('s-1');
  const problem = { path: 'input.name', message: 'must not be blank' };
  const cases: [Error, Record<string, unknown>][] = [
    [invalid(problem), { code: 'BAD_REQUEST', statusCode: 400, fields: [problem] }],
    [notFound('Agent', 9), { code: 'NOT_FOUND', statusCode: 404 }],
    [forbidden('Owners only', 'OWNER_ONLY'), { code: 'FORBIDDEN', statusCode: 403, reason: 'OWNER_ONLY' }],
    [conflict('Taken'), { code: 'CONFLICT', statusCode: 409 }],
    [new DomainError('tooManyRequests', 'Too many wait'), { code: 'TOO_MANY_REQUESTS', statusCode: 429 }],
    [new DomainError('notImplemented', 'Not yet'), { code: 'NOT_IMPLEMENTED', statusCode: 501 }],
    [unavailable('No model answers'), { code: 'UNAVAILABLE', statusCode: 503 }],
  ];
  for (const [error, extensions] of cases) {
    thrown = error;
    const answer = await ask('mutation { deleteAgent(id: 9) }', { token });
    t.is(answer.status, 200, error.message);
    t.deepEqual(answer.errors, [{ message: error.message, path: ['deleteAgent'], extensions }]);
  }
  thrown = notFound('Agent', 9);
  const partial = await ask('{ __typename a: agent(id: 9) { id } b: agent(id: 8) { id } }', { token });
  t.is(partial.status, 200);
  t.deepEqual(partial.data, { __typename: 'Query', a: null, b: null });
  t.deepEqual(codesOf(partial), ['NOT_FOUND', 'NOT_FOUND']);
});

test('an unexpected error of a subgraph is masked', async (t) => {
  let thrown: unknown;
  const { ask, identity } = await gatewayMesh(t, {
    resolvers: {
      agent: {
        Query: {
          agentCount: () => {
            throw thrown;
          },
        },
      },
    },
  });
  const token = await identity.signIn('s-1');
  const secret = 'select * from users at 10.0.0.7:5432';
  const mistakes = [
    new Error(secret),
    new TypeError(secret),
    { odd: secret },
    new DomainError('internal', secret, { cause: new Error(secret) }),
    new GraphQLError(secret, { extensions: { code: 'SECRET', detail: secret, http: { status: 500 } } }),
  ];
  for (thrown of mistakes) {
    const answer = await ask(count, { token });
    t.is(answer.status, 200);
    t.like(answer.errors, [masked]);
    t.false(answer.text.includes('10.0.0.7'), answer.text);
    t.deepEqual(Object.keys(answer.errors?.[0]?.extensions ?? {}), ['code', 'statusCode']);
  }
});

test('a subgraph that is down is unavailable without revealing its address, and is reached again when it is back', async (t) => {
  const { ask, identity, stop, restartGraph } = await gatewayMesh(t, {
    resolvers: { agent: { Query: { agentCount: () => 2 } }, session: { Query: { sessionCount: () => 3 } } },
  });
  const token = await identity.signIn('s-1');
  t.deepEqual((await ask(count, { token })).data, { agentCount: 2 });
  await stop('agent graph');
  const answer = await ask('{ agentCount }', { token });
  t.is(answer.status, 200);
  t.like(answer.errors, [{ extensions: { code: 'UNAVAILABLE', statusCode: 503 } }]);
  t.notRegex(answer.text, /127\.0\.0\.1|ECONN|http:/);
  t.deepEqual((await ask('{ sessionCount }', { token })).data, { sessionCount: 3 }, 'the others serve');
  await restartGraph('agent');
  await eventually('it answers', async () => (await ask(count, { token })).data);
});

test('invalid responses of a subgraph are masked', async (t) => {
  let status = 500;
  let body = '';
  const agent = await rawServer(t, (request, response) => {
    request.resume();
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  });
  const { ask, identity } = await gatewayMesh(t, { graphUrls: { agent } });
  const token = await identity.signIn('s-1');
  for ([status, body] of [
    [500, '{"errors":[{"message":"secret"}]}'],
    [400, '{"data":{"agentCount":1}}'],
    [401, 'secret'],
    [302, ''],
    [200, '{"data":{"agentCount":'],
    [200, '<html>secret</html>'],
    [200, ''],
    [200, 'null'],
    [200, '[]'],
    [200, '{"errors":"secret"}'],
    [
      200,
      '{"data":{"agentCount":null},"errors":[{"message":"secret http://10.0.0.7","extensions":{"code":"ECONNREFUSED"}}]}',
    ],
  ] as const) {
    const answer = await ask(count, { token });
    t.is(answer.status, 200, body);
    t.like(answer.errors, [masked], `${status} ${body}`);
    t.notRegex(answer.text, /secret|10\.0\.0\.7|127\.0\.0\.1/, body);
  }
});

test('a subgraph that closes the connection is unavailable, and the gateway keeps serving', async (t) => {
  const agent = await rawServer(t, (request) => request.socket.destroy());
  const { ask, identity } = await gatewayMesh(t, { graphUrls: { agent } });
  const token = await identity.signIn('s-1');
  const answer = await ask(count, { token });
  t.like(answer.errors, [{ extensions: { code: 'UNAVAILABLE' } }]);
  t.notRegex(answer.text, /socket|127/);
});

test('connections under constant load are replaced, so that added processes of a subgraph get requests', async (t) => {
  const connections = new Set<Socket>();
  const agent = await rawServer(t, (request, response) => {
    connections.add(request.socket);
    request.resume();
    response.setHeader('content-type', 'application/json');
    // allow-name agentCount: the requested field.
    response.end('{"data":{"agentCount":7}}');
  });
  const { ask, identity } = await gatewayMesh(t, {
    graphUrls: { agent },
    env: { GATEWAY_SUBGRAPH_CONNECTION_MS: '20' },
  });
  const token = await identity.signIn('s-1');
  await eventually('there were several connections', async () => {
    const answer = await ask(count, { token });
    t.deepEqual(answer.data, { agentCount: 7 });
    return connections.size > 3;
  });
});

test('a query on an idle connection that the subgraph closes is retried, a mutation is not', async (t) => {
  let isStopping = false;
  const asked: string[] = [];
  const served = new WeakSet<Socket>();
  const agent = await rawServer(t, async (request, response) => {
    const { query }: { query: string } = JSON.parse((await request.toArray()).join(''));
    const [operation = ''] = /^\w+/u.exec(query) ?? [];
    asked.push(operation);
    // The client cannot distinguish this closed connection from one that closed while the request was on its way.
    if (isStopping && served.has(request.socket)) return void request.socket.destroy();
    served.add(request.socket);
    response.setHeader('content-type', 'application/json');
    // allow-name agentCount: the requested field.
    response.end(`{"data":{"${operation === 'mutation' ? 'deleteAgent' : 'agentCount'}":7}}`);
  });
  const { ask, identity } = await gatewayMesh(t, { graphUrls: { agent } });
  const token = await identity.signIn('s-1');
  await Promise.all([ask(count, { token }), ask(count, { token })]); // opens two connections
  isStopping = true;
  await eventually('a query goes out on an idle connection', async () => {
    asked.length = 0; // on a busy machine the idle connections may have closed earlier
    t.deepEqual((await ask(count, { token })).data, { agentCount: 7 });
    return asked.length > 1;
  });

  asked.length = 0;
  const [mutation] = (await ask('mutation { deleteAgent(id: 9) }', { token })).errors ?? [];
  t.like(mutation, { extensions: { code: 'UNAVAILABLE' } });
  t.deepEqual(asked, ['mutation']);
});

test('a mutation is retried if its connection was never opened, because nothing of it was sent', async (t) => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    request.resume();
    asked.push(request.url ?? '');
    // allow-name deleteAgent: the requested field.
    response.setHeader('content-type', 'application/json').end('{"data":{"deleteAgent":true}}');
  });
  // A separate address, because on 127.0.0.1 a server of another test might get the port while it is unused here.
  const host = process.platform === 'linux' ? '127.0.0.2' : '127.0.0.1';
  await once(server.listen(0, host), 'listening');
  const { port } = server.address() as AddressInfo;
  await once(server.close(), 'close');
  const onRefused = (message: unknown) => {
    const { connectParams } = message as { connectParams: { port: string; hostname: string } };
    const isHere = connectParams.hostname === host && connectParams.port === String(port);
    if (isHere && !server.listening) server.listen(port, host);
  };
  subscribe('undici:client:connectError', onRefused);
  t.teardown(() => {
    unsubscribe('undici:client:connectError', onRefused);
    server.close();
    server.closeAllConnections();
  });
  const { ask, identity } = await gatewayMesh(t, { graphUrls: { agent: `http://${host}:${port}` } });
  const answer = await ask('mutation { deleteAgent(id: 9) }', { token: await identity.signIn('s-1') });
  t.deepEqual(answer.data, { deleteAgent: true }, answer.text);
  t.deepEqual(asked, ['/']);
});

test('if a router reports a lost route, a query is retried, a mutation is not', async (t) => {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const agent = await rawServer(t, async (request, response) => {
    const { query }: { query: string } = JSON.parse((await request.toArray()).join(''));
    asked.push(query.startsWith('mutation') ? 'mutation' : 'query');
    const lost = Object.assign(new Error('read EHOSTUNREACH'), { code: 'EHOSTUNREACH', syscall: 'read' });
    const mine = [...sockets].find(({ localPort }) => localPort === request.socket.remotePort);
    if (asked.length === 1) return void mine?.destroy(lost);
    // allow-name agentCount: the requested field.
    response.setHeader('content-type', 'application/json').end('{"data":{"agentCount":7}}');
  });
  const onConnected = (message: unknown) => void sockets.add((message as { socket: Socket }).socket);
  subscribe('undici:client:connected', onConnected);
  t.teardown(() => unsubscribe('undici:client:connected', onConnected));
  const { ask, identity } = await gatewayMesh(t, { graphUrls: { agent } });
  const token = await identity.signIn('s-1');
  t.deepEqual((await ask(count, { token })).data, { agentCount: 7 });
  t.deepEqual(asked, ['query', 'query']);

  asked.length = 0;
  t.like((await ask('mutation { deleteAgent(id: 9) }', { token })).errors, [{ extensions: { code: 'UNAVAILABLE' } }]);
  t.deepEqual(asked, ['mutation']);
});

test('a subgraph that closes the connection during its response is unavailable', async (t) => {
  const agent = await rawServer(t, (request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
    response.write('{"data":', () => request.socket.destroy());
  });
  const { ask, identity } = await gatewayMesh(t, { graphUrls: { agent } });
  const answer = await ask(count, { token: await identity.signIn('s-1') });
  t.like(answer.errors, [{ extensions: { code: 'UNAVAILABLE' } }]);
});

test('a slow or trickling subgraph ends at its timeout, however many requests wait for it', async (t) => {
  const trickles = new Set<NodeJS.Timeout>();
  t.teardown(() => {
    for (const each of trickles) clearInterval(each);
  });
  let asked = 0;
  const agent = await rawServer(t, (request, response) => {
    request.resume();
    asked += 1;
    if (asked % 2 === 0) return; // these requests never get a response
    response.writeHead(200, { 'content-type': 'application/json' });
    trickles.add(setInterval(() => response.write(' '), 20));
  });
  const { ask, identity } = await gatewayMesh(t, {
    graphUrls: { agent },
    env: {
      GATEWAY_SUBGRAPH_TIMEOUT_MS: '3000',
      GATEWAY_SUBGRAPH_CALLS_PER_CLIENT: '64',
      GATEWAY_SUBGRAPH_CALLS_PER_TENANT: '64',
    },
  });
  const token = await identity.signIn('s-1');
  const timed = async (times: number) => {
    const before = performance.now();
    const answers = await Promise.all(Array.from({ length: times }, () => ask(count, { token })));
    return { answers, tookMs: performance.now() - before };
  };
  const alone = await timed(1);
  const { answers, tookMs } = await timed(200);
  t.true(tookMs < 3 * alone.tookMs, `${tookMs} ms, and ${alone.tookMs} ms alone`); // four rounds over all connections
  const codes = new Set(answers.flatMap(codesOf));
  t.true(codes.delete('UNAVAILABLE'));
  codes.delete('TOO_MANY_REQUESTS'); // refused because the estimated wait is too long
  t.deepEqual([...codes], []);
  t.true(asked >= 64);
  t.is((await ask('{ myTenant { id } }', { token })).status, 200);
});

test('a response that is too large is refused with a reason', async (t) => {
  const { ask, identity } = await gatewayMesh(t, {
    env: { GATEWAY_MAX_ANSWER_BYTES: '10000' },
    resolvers: { agent: { Query: { agentConfigOptions: () => ({ ttsVoiceCatalogUrl: 'x'.repeat(20_000) }) } } },
  });
  const token = await identity.signIn('s-1');
  const { errors } = await ask('{ agentConfigOptions { ttsVoiceCatalogUrl } }', { token });
  t.like(errors, [{ extensions: { code: 'BAD_REQUEST', statusCode: 400, reason: 'ANSWER_TOO_LARGE' } }]);
});

test("syntax, validation and variables keep Apollo's codes and are HTTP 400", async (t) => {
  const { ask, identity, reached, post } = await gatewayMesh(t);
  const token = await identity.signIn('s-1');
  const cases: [string, Record<string, unknown>, string][] = [
    ['{ agentCount', {}, 'GRAPHQL_PARSE_FAILED'],
    ['{ nothing }', {}, 'GRAPHQL_VALIDATION_FAILED'],
    ['{ agent(id: {}) { id } }', {}, 'GRAPHQL_VALIDATION_FAILED'],
    ['{ agents(first: 99999999999) { id } }', {}, 'GRAPHQL_VALIDATION_FAILED'],
    ['query ($id: ID!) { agent(id: $id) { id } }', {}, 'BAD_USER_INPUT'],
    ['query ($first: Int) { agents(first: $first) { id } }', { first: 'many' }, 'BAD_USER_INPUT'],
    [
      'mutation ($input: CreateTenantInput!) { createTenant(input: $input) { id } }',
      { input: { no: 1 } },
      'BAD_USER_INPUT',
    ],
  ];
  for (const [query, variables, code] of cases) {
    const answer = await ask(query, { token, variables });
    t.is(answer.status, 400, query);
    for (const { extensions } of answer.errors ?? []) t.deepEqual(extensions, { code, statusCode: 400 }, query);
    t.true((answer.errors ?? []).length > 0);
  }
  const unnamed = await post(JSON.stringify({ query: 'query a { __typename } query b { __typename }' }));
  t.is(unnamed.status, 400);
  t.deepEqual(codesOf(unnamed), ['OPERATION_RESOLUTION_FAILURE']);
  t.is(reached.length, 0);
});

const secret = 'sk_tHiSiSaSeCrEt';
const login = 'mutation ($input: SignInInput!) { login(input: $input) { accessToken } }';
const start = 'mutation ($input: StartSessionInput!) { startSession(input: $input) { id } }';
const createAgent = 'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { id } }';

test('no error quotes a value of a variable or literal', async (t) => {
  const { ask, identity, reached } = await gatewayMesh(t);
  const token = await identity.signIn('s-1');
  const first = 'query ($n: Int) { agents(first: $n) { id } }';
  const agent = 'query ($id: ID!) { agent(id: $id) { id } }';
  const variables: [query: string, variables: Record<string, unknown>, problem: string][] = [
    [first, { n: secret }, '"$n" must be of type "Int"'],
    [first, { n: [secret] }, '"$n" must be of type "Int"'],
    [first, { n: { [secret]: 1 } }, '"$n" must be of type "Int"'],
    [agent, {}, '"$id" must be of type "ID!", and is not there'],
    [agent, { id: null }, '"$id" must be of type "ID!", and is not there'],
    [login, { input: secret }, '"$input" must be of type "SignInInput"'],
    [login, { input: { password: [secret] } }, '"$input" must be of type "String" at "input.password"'],
    [login, { input: { email: secret } }, '"$input" must be of type "String!" at "input.password", and is not there'],
    [
      login,
      { input: { password: secret, pass: secret } },
      '"$input" has a field that type "SignInInput" has not at "input.pass"',
    ],
    [start, { input: { agentId: secret } }, '"$input" must be of type "Int" at "input.agentId"'],
    [
      createAgent,
      { input: { name: 'a', position: 'b', personaPrompt: 'c', useCase: secret } },
      '"$input" must be of type "AgentUseCase" at "input.useCase"',
    ],
  ];
  for (const [query, given, problem] of variables) {
    const { status, errors, text } = await ask(query, { token, variables: given });
    t.is(status, 400, problem);
    t.true(
      errors?.some(({ message }) => message === `Variable ${problem}`),
      `${problem}: ${text}`,
    );
    t.false(text.includes(secret), text);
  }
  for (const query of [
    `{ agents(first: "${secret}") { id } }`,
    `{ agents(first: [["${secret}"]]) { id } }`,
    `{ agents(first: ${secret}) { id } }`,
    `{ agents(first: "${secret}" "${secret}") { id } }`,
    `{ agents(first: "${secret}`,
    `{ agents """${secret}""" }`,
    `query ($n: Int = "${secret}") { agents(first: $n) { id } }`,
    `mutation { login(input: "${secret}") { accessToken } }`,
    `mutation { login(input: { password: { a: "${secret}" } }) { accessToken } }`,
    `mutation { login(input: { email: "${secret}" }) { accessToken } }`,
    `mutation { startSession(input: { agentId: "${secret}", clientExternalId: "c" }) { id } }`,
    `mutation { createAgent(input: { name: "a", position: "b", personaPrompt: "c", useCase: ${secret} }) { id } }`,
    `mutation { createAgent(input: { name: "a", position: "b", personaPrompt: "c", useCase: "${secret}" }) { id } }`,
  ]) {
    const { status, errors, text } = await ask(query, { token });
    t.is(status, 400, query);
    t.regex(errors?.[0]?.message ?? '', /^(Syntax Error|Expected a value of type "|Field "SignInInput\.password")/);
    t.false(text.includes(secret), text);
  }
  t.is(reached.length, 0);
});

test('a literal with an invalid null is refused without being quoted', async (t) => {
  const { ask, identity } = await gatewayMesh(t);
  const token = await identity.signIn('s-1');
  const query = `mutation ($id: String = "b") { startSession(input: { agentId: 1, clientExternalId: $id, metadata: { a: "${secret}" } }) { id } }`;
  const answer = await ask(query, { token, variables: { id: null } });
  t.false(answer.text.includes(secret));
  t.like(answer.errors, [
    { message: 'Argument "input" must be of its type', extensions: { code: 'BAD_USER_INPUT', statusCode: 400 } },
  ]);
});

test('the same error at one location is reported once', async (t) => {
  const { ask } = await gatewayMesh(t);
  const messages = async (query: string) => (await ask(query)).errors?.map(({ message }) => message);
  t.deepEqual(await messages(`{ agentCount ${'@include(if: true) '.repeat(30)} }`), [
    'The directive "@include" can only be used once at this location.',
  ]);
  t.deepEqual(await messages(`mutation { login(input: { ${'password: "x" '.repeat(30)} }) { accessToken } }`), [
    'There can be only one input field named "password".',
  ]);
});

test("input that only the subgraph's schema refuses gets the same error shape", async (t) => {
  const { ask, identity } = await gatewayMesh(t, {
    resolvers: {
      agent: {
        Query: {
          agentCount: () => {
            throw new GraphQLError('Variable "$x" got invalid value', { extensions: { code: 'BAD_USER_INPUT' } });
          },
        },
      },
    },
  });
  const token = await identity.signIn('s-1');
  const answer = await ask(count, { token });
  t.is(answer.status, 200);
  t.like(answer.errors, [{ extensions: { code: 'BAD_USER_INPUT', statusCode: 400 } }]);
});

test('a document of more tokens than the lexer reads is refused', async (t) => {
  const { ask } = await gatewayMesh(t);
  const answer = await ask(`{ ${'__typename '.repeat(2_000)} }`);
  t.is(answer.status, 400);
  t.deepEqual(codesOf(answer), ['GRAPHQL_PARSE_FAILED']);
});

test('a subscription by POST is refused with the place that serves it', async (t) => {
  const { ask, identity } = await gatewayMesh(t);
  const token = await identity.signIn('s-1');
  const answer = await ask('subscription { sessionEvents(sessionId: 1) { eventId } }', { token });
  t.is(answer.status, 400);
  t.like(answer.errors, [{ extensions: { code: 'BAD_REQUEST', statusCode: 400 } }]);
  t.regex(answer.errors?.[0]?.message ?? '', /WebSocket/);
});

test('with introspection off, errors suggest no names of the schema', async (t) => {
  const open = await gatewayMesh(t);
  const query = '{ __type(name: "Query") { name } }';
  t.deepEqual((await open.ask(query)).data, { __type: { name: 'Query' } });
  t.regex((await open.ask('{ agentCoun }')).text, /agentCount/);

  const closed = await gatewayMesh(t, { env: { NODE_ENV: 'production' } });
  const refused = await closed.ask(query);
  t.is(refused.status, 400);
  t.deepEqual(codesOf(refused), ['GRAPHQL_VALIDATION_FAILED']);
  t.notRegex((await closed.ask('{ agentCoun }')).text, /agentCount/);
  const forced = await gatewayMesh(t, { env: { NODE_ENV: 'production', INTROSPECTION: 'true' } });
  t.is((await forced.ask(query)).status, 200);
});

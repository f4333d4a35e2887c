import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import { conflict, DomainError, notFound, unavailable } from '@parley/kernel/errors';
import { listen } from '@parley/kernel/http/listen';
import type { GraphContext } from '@parley/subgraph/subgraph';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test, { type ExecutionContext } from 'ava';
import type { GraphQLResolveInfo } from 'graphql';
import { type Asked, codesOf, type GatewayMeshOptions, gatewayMesh } from './support/gateway-mesh.ts';

const start = `mutation ($name: String!) {
  startSession(input: { agentId: 1, clientExternalId: $name }) { id clientExternalId }
}`;
const endSession = 'mutation { endSession(sessionId: 7) { id } }';
const createTenant = 'mutation { createTenant(input: { name: "New" }) { id } }';
const createAgent = 'mutation { createAgent(input: { name: "Ada", personaPrompt: "p", position: "p" }) { id } }';
const generate = '{ generateText(input: { prompt: "Hi" }) { text } }';
const login = 'mutation { login(input: { email: "ada@example.com", password: "wrong horse" }) { accessToken } }';

interface CountingOptions extends GatewayMeshOptions {
  /** A further subgraph that counts requests, in addition to session. */
  also?: 'agent' | 'identity';
}

/**
 * Starts a gateway whose subgraphs record the fields that they execute. Each subgraph awaits `outcome` before it answers; if `outcome`
 * rejects, the field fails.
 */
async function counting(t: ExecutionContext, { also, ...options }: CountingOptions = {}) {
  const effects: { field: string; key: string | undefined }[] = [];
  const hooks = { outcome: async () => undefined as unknown };
  const effect =
    <Answer>(answer: (count: number, input?: { clientExternalId?: string }) => Answer) =>
    async (
      _: unknown,
      { input }: { input?: { clientExternalId?: string } },
      { caller }: GraphContext,
      { fieldName }: GraphQLResolveInfo,
    ): Promise<Answer> => {
      effects.push({ field: fieldName, key: caller.idempotencyKey });
      await hooks.outcome();
      return answer(effects.length, input);
    };
  const resolvers = {
    agent: {
      Query: {
        agentCount: effect((count) => count),
        generateText: effect((count) => ({ text: `Answer ${count}`, costUsd: 0 })),
      },
      Mutation: { createAgent: effect((id) => ({ id })) },
    },
    identity: {
      Mutation: {
        createTenant: effect((id) => ({ id })),
        login: effect((count) => ({ accessToken: String(count) })),
      },
    },
    session: {
      Mutation: {
        endSession: effect((id) => ({ id })),
        startSession: effect((id, input) => ({ id, clientExternalId: input?.clientExternalId })),
      },
    },
  };
  const { session } = resolvers;
  const mesh = await gatewayMesh(t, {
    resolvers: also ? { session, [also]: resolvers[also] } : { session },
    ...options,
  });
  const token = await mesh.identity.signIn('s-1');
  mesh.identity.addApiKey('sk_right', { apiKeyId: 1, tenantId: 1, tenantSuspended: false });
  return {
    ...mesh,
    token,
    effects,
    hooks,
    /** Sends a request as the user Ada, with an idempotency key. */
    keyed: (query: string, key: string, { headers, ...asked }: Asked = {}) =>
      mesh.ask(query, { token, ...asked, headers: { 'idempotency-key': key, ...headers } }),
  };
}

const ada = { variables: { name: 'Ada' } };
const isOfKeys = (question: string) => /^(claim|end)/u.test(question);

test.serial(
  'the same request with the same key is carried out once, over two gateways, and answered the same',
  async (t) => {
    const { keyed, effects, secondGateway } = await counting(t);
    const at = await secondGateway();
    const first = await keyed(start, 'k', ada);
    t.deepEqual(first.data, { startSession: { id: 1, clientExternalId: 'Ada' } });
    for (const asked of [ada, { ...ada, at }]) {
      const again = await keyed(start, 'k', asked);
      t.deepEqual([again.status, again.text], [first.status, first.text]);
    }
    t.is(effects.length, 1);
    t.deepEqual((await keyed(start, 'another', ada)).data, { startSession: { id: 2, clientExternalId: 'Ada' } });
  },
);

test.serial('a parallel request is CONFLICT while the first runs, on both gateways', async (t) => {
  const { keyed, effects, hooks, secondGateway } = await counting(t);
  const at = await secondGateway();
  const gate = createGate();
  hooks.outcome = () => gate.pass();
  const first = keyed(start, 'k', ada);
  await eventually('it runs', () => effects.length === 1);
  for (const asked of [ada, { ...ada, at }]) {
    const refused = await keyed(start, 'k', asked);
    t.is(refused.status, 200);
    t.like(refused.errors?.[0]?.extensions, {
      code: 'CONFLICT',
      statusCode: 409,
      reason: 'IDEMPOTENCY_KEY_IN_PROGRESS',
    });
  }
  gate.open();
  const { text } = await first;
  t.is((await keyed(start, 'k', { ...ada, at })).text, text);
  t.is(effects.length, 1);
});

test.serial('the same key with another body is BAD_REQUEST; only its formatting may differ', async (t) => {
  const { keyed, post, effects, token } = await counting(t);
  await keyed(start, 'k', ada);
  for (const [query, variables] of [
    [start, { name: 'Eve' }],
    [start.replace('id clientExternalId', 'id'), { name: 'Ada' }],
    [endSession, {}],
  ] as const) {
    const refused = await keyed(query, 'k', { variables });
    t.like(refused.errors?.[0]?.extensions, { code: 'BAD_REQUEST', reason: 'IDEMPOTENCY_KEY_REUSED' });
  }
  const headers = { authorization: `Bearer ${token}`, 'idempotency-key': 'k' };
  const reordered = await post(JSON.stringify({ variables: ada.variables, query: start, extensions: {} }), headers);
  t.deepEqual(reordered.data, { startSession: { id: 1, clientExternalId: 'Ada' } });
  t.is(effects.length, 1);
});

test.serial('a retry gets the same refusal as the first request', async (t) => {
  const { keyed, effects, hooks } = await counting(t);
  for (const [n, refusal] of [notFound('Session', 7), conflict('taken', 'WHY')].entries()) {
    hooks.outcome = () => Promise.reject(refusal);
    const first = await keyed(endSession, `k${n}`);
    hooks.outcome = async () => undefined;
    t.is((await keyed(endSession, `k${n}`)).text, first.text);
    t.is(effects.length, n + 1);
  }
});

test.serial('401, 429 and 5xx are not kept: a retry runs, with the same key for its effects', async (t) => {
  const { keyed, effects, hooks } = await counting(t);
  const failures = [
    new DomainError('unauthenticated', 'revoked meanwhile'),
    new DomainError('tooManyRequests', 'queue is full'),
    new DomainError('notImplemented', 'not yet'),
    unavailable('away'),
    new Error('a bug'),
  ];
  for (const failure of failures) {
    hooks.outcome = () => Promise.reject(failure);
    t.truthy((await keyed(endSession, 'k')).errors);
  }
  hooks.outcome = async () => undefined;
  t.is((await keyed(endSession, 'k')).errors, undefined);
  t.is(effects.length, failures.length + 1);
  t.deepEqual([...new Set(effects.map(({ key }) => key))], ['use-0']);
});

test.serial(
  'if the first of several mutations fails, a retry runs; if a later one fails, the answer is kept',
  async (t) => {
    const { keyed, effects, hooks } = await counting(t);
    const two = 'mutation { one: endSession(sessionId: 1) { id } two: endSession(sessionId: 2) { id } }';
    const failAt = (count: number) => async () => {
      if (effects.length === count) throw unavailable('away');
    };
    hooks.outcome = failAt(1);
    t.deepEqual(codesOf(await keyed(two, 'k')), ['UNAVAILABLE']);
    hooks.outcome = failAt(3);
    const second = await keyed(two, 'k');
    t.deepEqual(codesOf(second), ['UNAVAILABLE']);
    hooks.outcome = async () => undefined;
    t.is((await keyed(two, 'k')).text, second.text);
    t.is(effects.length, 3);
  },
);

test.serial('if a later subgraph is unavailable, a retry does not repeat the effect of an earlier one', async (t) => {
  const { keyed, effects, stop } = await counting(t);
  await stop('agent graph');
  const two = createAgent.replace('{ ', '{ endSession(sessionId: 1) { id } ');
  const first = await keyed(two, 'k');
  t.deepEqual(codesOf(first), ['UNAVAILABLE']);
  t.is((await keyed(two, 'k')).text, first.text);
  t.is(effects.length, 1);
});

test.serial(
  'while a mutation whose answer got lost may still run, its retries are CONFLICT until the lease ends',
  async (t) => {
    const gate = createGate();
    t.teardown(() => gate.open());
    const { keyed, effects, hooks, identity } = await counting(t, { env: { GATEWAY_SUBGRAPH_TIMEOUT_MS: '1000' } });
    hooks.outcome = () => gate.pass();
    t.deepEqual(codesOf(await keyed(endSession, 'k')), ['UNAVAILABLE']);
    t.is(effects.length, 1);
    t.like((await keyed(endSession, 'k')).errors?.[0]?.extensions, { reason: 'IDEMPOTENCY_KEY_IN_PROGRESS' });
    t.deepEqual([effects.length, identity.keys.ended], [1, []]);
    gate.open();
    identity.keys.endLeases();
    t.deepEqual((await keyed(endSession, 'k')).data, { endSession: { id: 2 } });
    t.deepEqual([...new Set(effects.map(({ key }) => key))], ['use-0']);
  },
);

test.serial('an answer is lost if its connection is cut, but not if the connection was never opened', async (t) => {
  const cut = createServer(({ socket }) => socket.destroy());
  t.teardown(() => cut.close());
  const address = await listen(cut);
  const { keyed, identity } = await gatewayMesh(t, { graphUrls: { session: `http://${address}` } }).then(
    async (mesh) => {
      const token = await mesh.identity.signIn('s-1');
      const keyed = (query: string, key: string) => mesh.ask(query, { token, headers: { 'idempotency-key': key } });
      return { ...mesh, keyed };
    },
  );
  t.deepEqual(codesOf(await keyed(endSession, 'k')), ['UNAVAILABLE']);
  t.deepEqual(codesOf(await keyed(endSession, 'k')), ['CONFLICT']);
  t.deepEqual(codesOf(await keyed('mutation { __typename }', 'none')), []);
  await cut[Symbol.asyncDispose]();
  for (let i = 0; i < 2; i++) t.deepEqual(codesOf(await keyed(endSession, 'refused')), ['UNAVAILABLE']);
  t.is(identity.keys.ended.filter(({ result }) => result === undefined).length, 2);
});

test.serial('a request with two Idempotency-Key headers is refused', async (t) => {
  const { url, token, effects, identity } = await counting(t);
  const asked = request(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-app-platform': 'customer',
      authorization: `Bearer ${token}`,
      'idempotency-key': ['k', 'l'],
    },
  });
  asked.end(JSON.stringify({ query: endSession }));
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  t.like(JSON.parse((await response.toArray()).join('')), {
    errors: [
      { extensions: { code: 'BAD_REQUEST', fields: [{ path: 'Idempotency-Key', message: 'must be sent once' }] } },
    ],
  });
  t.deepEqual([effects.length, identity.asked.some(isOfKeys)], [0, false]);
});

test.serial(
  'the answer of a @sentOnce query is kept like that of a mutation, and other queries ignore the key',
  async (t) => {
    const { keyed, effects, identity } = await counting(t, { also: 'agent' });
    const byKey = { token: undefined as never, apiKey: 'sk_right' };
    const first = await keyed(generate, 'k', byKey);
    t.deepEqual(first.data, { generateText: { text: 'Answer 1' } });
    t.is((await keyed(generate, 'k', byKey)).text, first.text);
    t.is(effects.length, 1);

    const asked = identity.asked.length;
    for (const [n, key] of ['k', 'k', 'x'.repeat(300), ''].entries()) {
      t.deepEqual((await keyed('{ agentCount }', key)).data, { agentCount: n + 2 });
    }
    t.false(identity.asked.slice(asked).some(isOfKeys));
    t.is(effects.at(-1)?.key, undefined);
  },
);

test.serial('a public operation ignores the key', async (t) => {
  const { ask, effects } = await counting(t, { also: 'identity' });
  for (const key of ['k', 'k', 'é'.repeat(300)]) {
    t.is((await ask(login, { headers: { 'idempotency-key': key } })).errors, undefined);
  }
  t.is(effects.length, 3);
});

test.serial('each sign-in and API key has keys of its own', async (t) => {
  const { keyed, identity, effects } = await counting(t, { also: 'agent' });
  identity.addApiKey('sk_other', { apiKeyId: 2, tenantId: 1, tenantSuspended: false });
  await keyed(endSession, 'k');
  await keyed(endSession, 'k', { token: await identity.signIn('s-2') });
  for (const apiKey of ['sk_right', 'sk_other']) await keyed(generate, 'k', { token: undefined as never, apiKey });
  t.is(new Set(effects.map(({ key }) => key)).size, 4);
});

test.serial(
  'a key has 1 to 255 printable characters; a malformed one is refused before anything counts or runs',
  async (t) => {
    const { keyed, effects, identity } = await counting(t, { also: 'agent' });
    for (const key of ['x'.repeat(255), '3f9a4f1e-0000-4000-8000-000000000000', 'any text: "quoted" ~'])
      t.is((await keyed(endSession, key)).errors, undefined, key);
    const done = effects.length;
    for (const key of ['x'.repeat(256), '', 'tab\there', 'é', 'ÿ'.repeat(3)]) {
      const refused = await keyed(endSession, key);
      t.is(refused.status, 200);
      t.like(refused.errors?.[0]?.extensions, { code: 'BAD_REQUEST', fields: [{ path: 'Idempotency-Key' }] });
    }
    const byKey = { token: undefined as never, apiKey: 'sk_right' };
    for (let i = 0; i < 12; i++) t.is((await keyed(generate, 'é', byKey)).status, 200, 'it counts in no throttle');
    t.is(effects.length, done);
    t.false(identity.asked.some((question) => question.startsWith('claim é')));
  },
);

test.serial(
  'what is refused before it runs stores nothing: no sign-in, no permission, wrong values, a throttle',
  async (t) => {
    const { keyed, identity } = await counting(t, { also: 'agent' });
    const byKey = { token: undefined as never, apiKey: 'sk_right' };
    await keyed(endSession, 'k', { token: 'bad' });
    await keyed(start, 'k', { variables: { name: 7 } });
    await keyed(start, 'k', byKey);
    await keyed('mutation { endSession(sessionId: 7) { nothing } }', 'k');
    t.false(identity.asked.some((question) => question.startsWith('claim')));
    for (let i = 0; i < 10; i++) await keyed(generate, `k${i}`, byKey);
    const refused = await keyed(generate, 'throttled', byKey);
    t.is(refused.status, 429);
    t.false(identity.asked.includes('claim throttled'));
    t.is((await keyed(generate, 'k0', byKey)).status, 429, 'a retry counts as any request');
  },
);

test.serial('while identity is unavailable, no request with a key runs', async (t) => {
  const { keyed, effects, stop, restartRpc } = await counting(t);
  await keyed(endSession, 'before');
  await stop('identity rpc');
  const refused = await keyed(endSession, 'k');
  t.deepEqual(codesOf(refused), ['UNAVAILABLE']);
  t.is(effects.length, 1);
  await restartRpc('identity');
  await eventually('it works again', async () => (await keyed(endSession, 'k')).data);
  t.is(effects.length, 2);
});

test.serial('an answer that identity cannot store at once reaches the client, and is stored later', async (t) => {
  const { keyed, effects, identity } = await counting(t);
  let fails = 3;
  identity.keys.beforeEnd = async () => {
    fails -= 1;
    if (fails >= 0) throw unavailable('the database is away');
  };
  const first = await keyed(endSession, 'k');
  t.is(first.errors, undefined);
  await eventually('it is kept', () => identity.keys.ended.length === 1);
  t.is((await keyed(endSession, 'k')).text, first.text);
  t.is(effects.length, 1);
});

test.serial('the lease is renewed while the request runs, and no longer', async (t) => {
  const { keyed, effects, hooks, identity } = await counting(t);
  identity.keys.leaseMs = 30;
  const gate = createGate();
  hooks.outcome = () => gate.pass();
  const answer = keyed(endSession, 'k');
  await eventually('it is renewed', () => identity.keys.renewed.length >= 3);
  t.is(new Set(identity.keys.renewed).size, 1);
  gate.open();
  await answer;
  const renewed = identity.keys.renewed.length;
  identity.keys.leaseMs = 30_000;
  hooks.outcome = async () => undefined;
  for (let i = 0; i < 20; i++) await keyed(endSession, `k${i}`);
  t.true(identity.keys.renewed.length <= renewed + 1, 'one may have been under way');
  t.is(effects.length, 21);
});

test.serial('a request that has begun goes on when its client leaves, and a retry gets its answer', async (t) => {
  const { keyed, effects, hooks, identity, url, token } = await counting(t);
  const gate = createGate();
  hooks.outcome = () => gate.pass();
  const leaving = request(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-app-platform': 'customer',
      authorization: `Bearer ${token}`,
      'idempotency-key': 'k',
    },
  });
  leaving.on('error', () => undefined);
  leaving.end(JSON.stringify({ query: endSession, variables: {} }));
  await eventually('it runs', () => effects.length === 1);
  leaving.destroy();
  t.deepEqual(codesOf(await keyed(endSession, 'k')), ['CONFLICT']);
  gate.open();
  await eventually('its answer is kept', () => identity.keys.ended.at(-1)?.result !== undefined);
  t.deepEqual((await keyed(endSession, 'k')).data, { endSession: { id: 1 } });
  t.is(effects.length, 1);
});

test.serial('a retry from the tenant that the request has moved the sign-in to is the same request', async (t) => {
  const { keyed, effects, identity } = await counting(t, { also: 'identity' });
  await keyed(createTenant, 'k');
  await identity.signIn('s-1', { tenantId: 2 });
  await eventually('the gateway knows the new tenant', async () => (await keyed(endSession, `${Math.random()}`)).data);
  t.deepEqual((await keyed(createTenant, 'k')).data, { createTenant: { id: 1 } });
  t.is(effects.filter(({ field }) => createTenant.includes(field)).length, 1);
});

test.serial(
  'once the lease of a gateway that died has ended, a retry reaches the services with the key of the first attempt',
  async (t) => {
    const { keyed, effects, identity, secondGateway } = await counting(t);
    const at = await secondGateway();
    const gate = createGate();
    identity.keys.beforeEnd = () => gate.pass();
    const unanswered = keyed(endSession, 'k');
    await eventually('it has taken effect', () => identity.asked.includes('end'));
    t.deepEqual(codesOf(await keyed(endSession, 'k', { at })), ['CONFLICT']);
    identity.keys.endLeases();
    const retried = keyed(endSession, 'k', { at });
    await eventually('it runs', () => effects.length === 2);
    t.deepEqual([...new Set(effects.map(({ key }) => key))], ['use-0']);
    gate.open();
    await unanswered;
    t.is((await keyed(endSession, 'k')).text, (await retried).text, 'the answer of the claim that came last');
  },
);

test.serial(
  'a retry of a request with an answer above GATEWAY_MAX_KEPT_ANSWER_BYTES learns that the request was carried out',
  async (t) => {
    const { keyed, effects } = await counting(t, { env: { GATEWAY_MAX_KEPT_ANSWER_BYTES: '200' } });
    const large = { variables: { name: 'x'.repeat(200) } };
    t.is((await keyed(start, 'k', large)).errors, undefined);
    const again = await keyed(start, 'k', large);
    t.like(again.errors?.[0]?.extensions, { code: 'CONFLICT', reason: 'ANSWER_NOT_KEPT' });
    t.is(effects.length, 1);
  },
);

test.serial('a request without the header makes no additional call to identity', async (t) => {
  const { ask, token, identity, effects } = await counting(t);
  for (let i = 0; i < 5; i++) await ask(endSession, { token });
  t.false(identity.asked.some(isOfKeys));
  t.true(effects.every(({ key }) => key === undefined));
});

import { once } from 'node:events';
import { type ClientRequest, request, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { GraphContext } from '@parley/subgraph/subgraph';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test, { type ExecutionContext } from 'ava';
import { codesOf, type GraphAnswer, gatewayMesh, type Resolvers } from './support/gateway-mesh.ts';
import { rawServer } from './support/raw-server.ts';

const query = '{ agentCount }';
const from = (address: string) => ({ 'x-forwarded-for': address });
const people = ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4'];

/** Starts a gateway whose agent subgraph responds only when the test releases the call. */
async function setup(
  t: ExecutionContext,
  env: Record<string, string>,
  resolvers: Resolvers = {},
  directives: Readonly<Record<string, string>> = {},
) {
  const held = new Set<ServerResponse>();
  const seen = { calls: 0, cut: 0 };
  const agent = await rawServer(t, (incoming, response) => {
    incoming.resume();
    seen.calls += 1;
    held.add(response);
    response.once('close', () => {
      held.delete(response);
      if (!response.writableFinished) seen.cut += 1;
    });
  });
  const mesh = await gatewayMesh(t, {
    graphUrls: { agent },
    resolvers: { session: resolvers },
    directives,
    env: { TRUSTED_PROXIES: '127.0.0.1', ...env },
  });
  const answer = (response: ServerResponse | undefined) =>
    response
      ?.setHeader('content-type', 'application/json')
      .end('{"data":{"agentCount":2,"_entities":[{"name":"Ada"}]}}');
  /** Sends queries and counts their outcomes. */
  function ask(tenantId: number, addresses: string[]) {
    const counts = { ok: 0, refused: 0 };
    const all = addresses.map(async (address) => {
      const token = await mesh.identity.signIn(`s-${tenantId}`, { tenantId });
      const { status, data, ...rest } = await mesh.ask(query, { token, headers: from(address) });
      t.is(status, 200);
      if (data?.agentCount === 2) counts.ok += 1;
      else if (codesOf({ status, data, ...rest })[0] === 'TOO_MANY_REQUESTS') counts.refused += 1;
      else t.fail(rest.text);
    });
    return { counts, over: Promise.all(all) };
  }
  return {
    ...mesh,
    seen,
    ask,
    send: mesh.ask,
    async waiting() {
      const text = await (await fetch(`${mesh.addresses.of('gateway', 'ops')}/metrics`)).text();
      return Number(/^parley_subgraph_calls_waiting\S* (\d+)$/m.exec(text)?.[1]);
    },
    answerLast: () => answer([...held].at(-1)),
    async answerAllUntil(over: Promise<unknown>) {
      const timer = setInterval(() => held.forEach(answer), 5);
      await over;
      clearInterval(timer);
    },
  };
}

test('calls of one client are bounded and queued without delaying others, and a full queue refuses', async (t) => {
  const { ask, seen, answerLast, answerAllUntil } = await setup(t, {
    GATEWAY_SUBGRAPH_CALLS_PER_CLIENT: '2',
    GATEWAY_SUBGRAPH_WAITING_PER_CLIENT: '3',
  });
  const busy = ask(
    1,
    Array.from({ length: 9 }, () => '2001:db8::1'),
  );
  await eventually('it has its share', () => seen.calls === 2 && busy.counts.refused === 4);
  const sameNetwork = ask(1, ['2001:db8::2']);
  await eventually('a /64 is one client', () => sameNetwork.counts.refused === 1);

  const other = ask(2, ['10.0.0.1']);
  await eventually('the call of another client is under way', () => seen.calls === 3);
  answerLast();
  await other.over;
  t.is(other.counts.ok, 1);
  t.is(seen.calls, 3, 'its room is its own');
  await answerAllUntil(busy.over);
  t.deepEqual(busy.counts, { ok: 5, refused: 4 });
});

test('a full queue refuses no operation that has begun, so a mutation that ran reports its result', async (t) => {
  const bounds = { GATEWAY_SUBGRAPH_CALLS_PER_CLIENT: '1', GATEWAY_SUBGRAPH_WAITING_PER_CLIENT: '1' };
  const { ask, seen, waiting, identity, answerAllUntil, send } = await setup(t, bounds, {
    Mutation: { startSession: () => ({ id: 7, agent: { id: 1 } }) },
  });
  const others = ask(1, ['10.0.0.1', '10.0.0.1']);
  await eventually('no more may wait', async () => seen.calls === 1 && (await waiting()) === 1);
  const started = send(
    'mutation { startSession(input: { agentId: 1, clientExternalId: "c" }) { id agent { name } } }',
    {
      token: await identity.signIn('s-1', { tenantId: 1 }),
      headers: from('10.0.0.1'),
    },
  );
  await eventually('the rest of it waits', async () => (await waiting()) === 2);
  await answerAllUntil(Promise.all([others.over, started]));
  t.like(await started, { errors: undefined, data: { startSession: { id: 7, agent: { name: 'Ada' } } } });
});

test('calls that would wait for too long are refused after a second, and those before them are served', async (t) => {
  const { ask, waiting, answerAllUntil } = await setup(t, {
    GATEWAY_SUBGRAPH_CALLS_PER_CLIENT: '2',
    // Queued calls with an estimated wait of more than half of this time are refused.
    GATEWAY_SUBGRAPH_TIMEOUT_MS: '30000',
  });
  const busy = ask(
    1,
    Array.from({ length: 40 }, () => '10.0.0.1'),
  );
  await eventually('the rest is refused', async () => busy.counts.refused > 20 && (await waiting()) > 10);
  await answerAllUntil(busy.over);
  t.is(busy.counts.ok + busy.counts.refused, 40);
  t.true(busy.counts.ok > 10, `${busy.counts.ok} were served`);
});

test('calls of one tenant are bounded over all addresses', async (t) => {
  const { ask, seen, answerLast, answerAllUntil } = await setup(t, {
    GATEWAY_SUBGRAPH_CALLS_PER_TENANT: '2',
    GATEWAY_SUBGRAPH_WAITING_PER_TENANT: '1',
  });
  const busy = ask(1, people);
  await eventually('it has its share', () => seen.calls === 2 && busy.counts.refused === 1);
  const other = ask(2, people.slice(0, 1));
  await eventually('the call of another tenant is under way', () => seen.calls === 3);
  answerLast();
  await other.over;
  t.is(other.counts.ok, 1);
  await answerAllUntil(busy.over);
  t.deepEqual(busy.counts, { ok: 3, refused: 1 });
});

test('a field may allow fewer long calls per tenant than others, and a queued call is not sent', async (t) => {
  const { ask, seen, waiting, answerLast, answerAllUntil } = await setup(
    t,
    { GATEWAY_LONG_CALLS: '10', GATEWAY_LONG_CALLS_PER_TENANT: '9' },
    {},
    // allow-name agentCount: a piece of the schema.
    { agentCount: '@longRunning(callsPerTenant: 2)' },
  );
  const busy = ask(1, people);
  await eventually('its calls wait in the gateway', async () => seen.calls === 2 && (await waiting()) === 2);
  const other = ask(2, people.slice(0, 1));
  await eventually('the call of another tenant is under way', () => seen.calls === 3);
  answerLast();
  await other.over;
  t.is(other.counts.ok, 1);
  await answerAllUntil(busy.over);
  t.deepEqual(busy.counts, { ok: 4, refused: 0 });
});

test('attempts to sign in from many addresses of one network leave places to other networks', async (t) => {
  const gate = createGate();
  const under: unknown[] = [];
  const login = async (_: unknown, __: unknown, { caller: { ip } }: GraphContext) => {
    under.push(ip);
    await gate.pass();
    return { accessToken: '', expiresIn: 1, refreshToken: '', refreshExpiresIn: 1 };
  };
  const { ask } = await gatewayMesh(t, {
    env: {
      TRUSTED_PROXIES: '127.0.0.1',
      GATEWAY_SUBGRAPH_CALLS_PER_CLIENT: '1',
      GATEWAY_SUBGRAPH_CALLS_PER_TENANT: '3',
    },
    resolvers: { identity: { Mutation: { login } } },
  });
  const document = 'mutation { login(input: { email: "a@example.com", password: "p" }) { accessToken } }';
  const send = (address: string) => ask(document, { headers: from(address) });
  const sixes = ['2001:db8:0:1::1', '2001:db8:0:2::1'];
  const crowd = [...people, ...sixes].map(send);
  await eventually('one of each network is under way', () => under.length === 2);
  const others = [send('10.0.1.1')];
  await eventually('the other network has a place', () => under.length === 3);
  t.is(under[2], '10.0.1.1');
  t.true(people.includes(String(under[0])) !== people.includes(String(under[1])));
  gate.open();
  for (const { errors } of await Promise.all([...crowd, ...others])) t.is(errors, undefined);
});

test('callers without a sign-in share one limit over all addresses, apart from signed-in ones', async (t) => {
  const gate = createGate();
  const under = new Map<string, number>();
  const held = async (_: unknown, __: unknown, { caller: { kind, userId } }: GraphContext) => {
    const who = userId === undefined ? kind : `${kind} ${userId}`;
    under.set(who, (under.get(who) ?? 0) + 1);
    await gate.pass();
    return { id: 1, accessToken: '', expiresIn: 1, refreshToken: '', refreshExpiresIn: 1 };
  };
  const { ask, identity } = await gatewayMesh(t, {
    env: {
      TRUSTED_PROXIES: '127.0.0.1',
      GATEWAY_SUBGRAPH_CALLS: '5',
      GATEWAY_SUBGRAPH_CALLS_PER_TENANT: '2',
      GATEWAY_SUBGRAPH_WAITING_PER_TENANT: '1',
    },
    resolvers: {
      identity: {
        Mutation: { login: held, refreshToken: () => ({ accessToken: 'renewed' }) },
        Query: { getAuthProfile: held, myTenant: () => null },
      },
    },
  });
  const login = 'mutation { login(input: { email: "a@example.com", password: "p" }) { accessToken } }';
  const answers: GraphAnswer[] = [];
  const send = async (...asked: Parameters<typeof ask>) => answers.push(await ask(...asked));
  const logins = people.map((address) => send(login, { headers: from(address) }));
  await eventually('they have their share', () => under.get('anonymous') === 2 && answers.length === 1);
  t.like(answers[0]?.errors?.[0], {
    message: 'Too many requests of callers who are not signed in at once; try again in a moment',
    extensions: { code: 'TOO_MANY_REQUESTS' },
  });
  const renewal = await ask('mutation { refreshToken(input: { refreshToken: "r" }) { accessToken } }');
  t.deepEqual(renewal.data, { refreshToken: { accessToken: 'renewed' } }, 'what is no attempt to get in has its own');

  const token = await identity.signIn('s-2', { userId: 2, tenantId: undefined });
  const profiles = people.map((address) => send('{ getAuthProfile { id } }', { token, headers: from(address) }));
  await eventually('a user without a tenant has theirs', () => under.get('user 2') === 2 && answers.length === 2);
  t.deepEqual(codesOf(answers[1] as GraphAnswer), ['TOO_MANY_REQUESTS']);
  t.regex(String(answers[1]?.errors?.[0]?.message), /of this user/u);
  t.is(under.get('anonymous'), 2);

  const other = await identity.signIn('s-3', { userId: 3, tenantId: 3 });
  t.like(await ask('{ myTenant { id } }', { token: other }), { data: { myTenant: null }, errors: undefined });
  gate.open();
  await Promise.all([...logins, ...profiles]);
  t.is(under.get('anonymous'), 3);
});

test('when a client disconnects, its waiting calls never start and its running calls are cancelled', async (t) => {
  const { identity, url, seen, waiting, ask, answerAllUntil } = await setup(t, {
    GATEWAY_SUBGRAPH_CALLS_PER_CLIENT: '1',
  });
  const authorization = `Bearer ${await identity.signIn('s-1')}`;
  function leaving(): ClientRequest {
    const headers = { 'content-type': 'application/json', 'x-app-platform': 'customer', authorization };
    const sent = request(url, { method: 'POST', agent: false, headers: { ...headers, ...from('10.0.0.1') } });
    sent.on('error', () => undefined).end(JSON.stringify({ query: 'mutation { deleteAgent(id: 1) }' }));
    return sent;
  }
  const first = leaving();
  await eventually('it is under way', () => seen.calls === 1);
  const second = leaving();
  await eventually('it waits', async () => (await waiting()) === 1);
  second.destroy();
  await eventually('it waits no more', async () => (await waiting()) === 0);
  first.destroy();
  await eventually('the subgraph sees the disconnect', () => seen.cut === 1);
  const next = ask(1, ['10.0.0.1']);
  await answerAllUntil(next.over);
  t.is(next.counts.ok, 1);
  t.is(seen.calls, 2, 'what waited has not run');
});

test('credential lookups of one client are queued apart from those of others, and a full queue refuses', async (t) => {
  const { ask, identity } = await gatewayMesh(t, {
    env: {
      TRUSTED_PROXIES: '127.0.0.1',
      GATEWAY_SUBGRAPH_CALLS_PER_CLIENT: '2',
      GATEWAY_SUBGRAPH_WAITING_PER_CLIENT: '3',
    },
    resolvers: { agent: { Query: { agentCount: () => 2 } } },
  });
  const gate = createGate();
  identity.beforeSignIn = gate.pass;
  const codes: unknown[] = [];
  const guesses = Array.from({ length: 9 }, async (_, n) => {
    const token = await identity.key.token(`absent-${n}`);
    codes.push(...codesOf(await ask(query, { token, headers: from('10.0.0.1') })));
  });
  await eventually('those that are too many are refused', () => codes.length === 4);
  t.deepEqual(new Set(codes), new Set(['TOO_MANY_REQUESTS']));
  const asked = () => identity.asked.filter((question) => question.startsWith('signIn ')).length;
  t.is(asked(), 2);

  identity.beforeSignIn = async () => undefined;
  const other = await ask(query, { token: await identity.signIn('s-1'), headers: from('10.0.0.2') });
  t.deepEqual(other.data, { agentCount: 2 });
  t.is(asked(), 3, 'none of the others was asked meanwhile');
  gate.open();
  await Promise.all(guesses);
  t.deepEqual(codes.slice(4), Array(5).fill('UNAUTHENTICATED'));
});

/** Connections that send raw requests and count the responses. */
async function rawRequests(t: ExecutionContext) {
  const { url, addresses } = await gatewayMesh(t, { env: { TRUSTED_PROXIES: '127.0.0.1' } });
  async function connection() {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    t.teardown(() => socket.destroy());
    await once(socket, 'connect');
    let text = '';
    socket.setEncoding('utf8').on('data', (piece) => {
      text += piece;
    });
    return { socket, answers: () => text.split('HTTP/1.1 200 OK').length - 1 };
  }
  const body = '{"query":"{ __typename }"}';
  const post = (address: string) =>
    `POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nx-app-platform: customer\r\n` +
    `x-forwarded-for: ${address}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  async function waiting() {
    const text = await (await fetch(`${addresses.of('gateway', 'ops')}/metrics`)).text();
    return Number(/^parley_requests_waiting\S* (\d+)$/mu.exec(text)?.[1]);
  }
  const other = await connection();
  other.socket.write(post('10.0.0.2'));
  await eventually('the first request, which is slow, is answered', () => other.answers() === 1);
  return { connection, post, other, waiting };
}

test('a burst of requests from one client delays a request of another by only a few of them', async (t) => {
  const { connection, post, other } = await rawRequests(t);
  const busy = await connection();
  busy.socket.write(post('10.0.0.1').repeat(400));
  other.socket.write(post('10.0.0.2'));
  await eventually('the other client is answered', () => other.answers() === 2);
  t.true(busy.answers() < 150, `${busy.answers()}`);
  await eventually('all are answered', () => busy.answers() === 400);
});

test('a burst of requests whose last bytes arrive at once delays another client by only a few of them', async (t) => {
  const { connection, post, other, waiting } = await rawRequests(t);
  const busy = await Promise.all(Array.from({ length: 150 }, connection));
  const answers = () => busy.reduce((sum, each) => sum + each.answers(), 0);
  for (const { socket } of busy) socket.write(post('10.0.0.1').slice(0, -1));
  other.socket.write(post('10.0.0.2'));
  await eventually('the rest of all is awaited', async () => other.answers() === 2 && (await waiting()) === 0);
  for (const { socket } of busy) socket.write('}');
  other.socket.write(post('10.0.0.2'));
  await eventually('the other client is answered', () => other.answers() === 3);
  t.true(answers() < 100, `${answers()}`);
  await eventually('all are answered', () => answers() === 150);
});

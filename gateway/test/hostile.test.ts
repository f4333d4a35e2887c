import { collectGarbage } from '@parley/testing/collect-garbage';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { cpuRatioOf, maxCpuRatio } from './support/cpu.ts';
import { gatewayMesh } from './support/gateway-mesh.ts';
import { hostileRequests, longOperation, neverSeen } from './support/hostile.ts';
import { rawPost } from './support/raw-post.ts';

/** Returns the bytes of the heap and of external buffers. */
function heldBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Maximum growth of memory by caches and connections, including the test client's connections. */
const mayStayBytes = 30_000_000;

// The first two tests run alone, because the CPU and memory that other tests use would be measured too.
test.serial('no hostile document or body takes much CPU, neither the first time nor later', async (t) => {
  const { url, identity } = await gatewayMesh(t, { directives: { [longOperation]: '@longBody' } });
  const authorization = `Bearer ${await identity.signIn('s-1')}`;
  let sent = 0;
  for (const request of hostileRequests) {
    const { name, headers = {}, signedIn } = request;
    const post = (body: Buffer) =>
      rawPost(url, { body: [body], headers: { ...headers, ...(signedIn && { authorization }) } });
    for (const [which, bodyOf] of [
      ['the same', () => request.body],
      ['never seen', () => neverSeen(request, ++sent).body],
    ] as const) {
      const ratio = await cpuRatioOf(() => Buffer.from(bodyOf()), post, { enough: maxCpuRatio });
      t.true(ratio < maxCpuRatio, `${name}, ${which}: ${ratio} times the yardstick`);
    }
  }
});

test.serial('300 hostile requests leak no memory, and other requests are served between them', async (t) => {
  const { url, ask, identity, reached } = await gatewayMesh(t, {
    directives: { [longOperation]: '@longBody' },
    resolvers: { agent: { Query: { agentCount: () => 2 } } },
  });
  const token = await identity.signIn('s-1');
  let sent = 0;
  async function round(): Promise<void> {
    const batch = Array.from({ length: 10 }, () => hostileRequests[sent++ % hostileRequests.length]);
    const answers = await Promise.all(
      batch.flatMap((request) => {
        if (!request) return [];
        const { body, headers = {}, signedIn } = neverSeen(request, sent);
        const credential = signedIn && { authorization: `Bearer ${token}` };
        return [rawPost(url, { body: [body], headers: { ...headers, ...credential } })];
      }),
    );
    t.false(answers.some(({ status }) => status >= 500));
    t.deepEqual((await ask('{ agentCount }', { token })).data, { agentCount: 2 });
  }

  for (let i = 0; i < 10; i++) await round(); // fills caches and opens connections before the measurement
  const before = heldBytes();
  for (let i = 0; i < 30; i++) await round();
  // A closed connection releases its buffers a moment later.
  await eventually('memory is where it was', () => heldBytes() - before < mayStayBytes);
  t.true(sent >= 400);
  t.is(reached.length, 40, 'the others alone reached a subgraph');
});

test('every hostile document and body is refused, in the one error shape, and runs nothing', async (t) => {
  const { url, reached, ask, identity } = await gatewayMesh(t, { directives: { [longOperation]: '@longBody' } });
  const authorization = `Bearer ${await identity.signIn('s-1')}`;
  for (const { name, body, headers = {}, signedIn, statuses } of hostileRequests) {
    const answer = await rawPost(url, { body: [body], headers: { ...headers, ...(signedIn && { authorization }) } });
    t.true(statuses.includes(answer.status), `${name}: ${answer.status} ${answer.text.slice(0, 200)}`);
    t.true(answer.text.length < 20_000, `${name}: ${answer.text.length}`);
    const { errors } = JSON.parse(answer.text) as { errors: { extensions: Record<string, unknown> }[] };
    t.true(errors.length > 0 && errors.length <= 21, name);
    for (const { extensions } of errors) {
      t.is(typeof extensions.code, 'string', name);
      t.not(extensions.code, 'INTERNAL', name);
    }
  }
  t.is(reached.length, 0);
  t.is((await ask('{ __typename }')).status, 200);
});

test('a client that never finishes its body is disconnected', async (t) => {
  const { url, ask } = await gatewayMesh(t, { env: { GATEWAY_REQUEST_TIMEOUT_MS: '1500' } });
  const answer = await rawPost(url, { body: ['{"query":'], headers: { 'content-length': '100' }, ends: false });
  t.is(answer.status, 408);
  t.is((await ask('{ __typename }')).status, 200);
});

const from = (address: string) => ({ 'x-forwarded-for': address });
const unfinished = { 'transfer-encoding': 'chunked' };

test('unfinished bodies are bounded together, and others are served once they are closed', async (t) => {
  const { url, post, ask } = await gatewayMesh(t, {
    env: {
      GATEWAY_MAX_BODIES_BYTES: '600000',
      GATEWAY_REQUEST_TIMEOUT_MS: '6000',
      TRUSTED_PROXIES: '127.0.0.1',
    },
  });
  const part = 'x'.repeat(110_000);
  const held = [1, 2, 3, 4, 5].map((n) =>
    rawPost(url, { body: [part], headers: { ...unfinished, ...from(`10.0.0.${n}`) }, ends: false }),
  );
  const body = JSON.stringify({ query: '{ __typename }', variables: { v: part } });
  const other = from('10.0.0.9');
  await eventually('there is no room', async () => (await post(body, other)).status === 503);
  const refused = await post(body, other);
  t.like(refused.errors, [{ extensions: { code: 'UNAVAILABLE', statusCode: 503 } }]);
  const chunked = await rawPost(url, { body: [body], headers: { ...unfinished, ...other } });
  t.is(chunked.status, 503, 'nor for a body that does not say its length');
  t.is((await ask('{ __typename }')).status, 200, 'a short one needs none');
  for (const { status } of await Promise.all(held)) t.is(status, 408);
  await eventually('there is room again', async () => (await post(body, other)).status === 200);
});

test('one address may use only its share of the budget for bodies', async (t) => {
  const { url, post, ask } = await gatewayMesh(t, {
    env: {
      GATEWAY_MAX_BODIES_BYTES: '800000',
      GATEWAY_REQUEST_TIMEOUT_MS: '6000',
      TRUSTED_PROXIES: '127.0.0.1',
    },
  });
  const part = 'x'.repeat(110_000);
  const busy = from('2001:db8::1');
  const held = rawPost(url, { body: [part], headers: { ...unfinished, ...busy }, ends: false });
  const body = JSON.stringify({ query: '{ __typename }', variables: { v: part } });
  await eventually('its share is taken', async () => (await post(body, busy)).status === 429);
  const sameNetwork = from('2001:db8::2');
  t.like((await post(body, sameNetwork)).errors, [{ extensions: { code: 'TOO_MANY_REQUESTS', statusCode: 429 } }]);
  const chunked = await rawPost(url, { body: [body], headers: { ...unfinished, ...sameNetwork } });
  t.is(chunked.status, 429);
  t.is((await ask('{ __typename }', { headers: busy })).status, 200, 'a short body needs no room');
  t.is((await post(body, from('10.0.0.1'))).status, 200);
  t.is((await held).status, 408);
  await eventually('it may send again', async () => (await post(body, busy)).status === 200);
});

import { eventually } from '@parley/chassis/testing/eventually';
import test from 'ava';
import { gatewayMesh } from './support/gateway-mesh.ts';
import { hostileRequests } from './support/hostile.ts';
import { rawPost } from './support/raw-post.ts';

test('every hostile document and body is refused, in the one error shape, and runs nothing', async (t) => {
  const { url, reached, ask, identity } = await gatewayMesh(t);
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

test('hundreds of hostile requests at once leave a gateway that serves', async (t) => {
  const { url, reached, ask, identity } = await gatewayMesh(t, {
    resolvers: { agent: { Query: { agentCount: () => 2 } } },
  });
  const token = await identity.signIn('s-1');
  const small = hostileRequests.filter(({ body }) => body.length < 100_000);
  let answered = 0;
  for (let round = 0; round < 8; round++) {
    const answers = await Promise.all(
      small.map(({ body, headers = {}, signedIn }) =>
        rawPost(url, { body: [body], headers: { ...headers, ...(signedIn && { authorization: `Bearer ${token}` }) } }),
      ),
    );
    t.false(answers.some(({ status }) => status >= 500));
    answered += answers.length;
    t.deepEqual((await ask('{ agentCount }', { token })).data, { agentCount: 2 });
  }
  t.true(answered > 150);
  t.is(reached.length, 8);
});

test('a client that never comes to the end of its body is cut off', async (t) => {
  const { url, ask } = await gatewayMesh(t, { env: { GATEWAY_REQUEST_TIMEOUT_MS: '1500' } });
  const answer = await rawPost(url, { body: ['{"query":'], headers: { 'content-length': '100' }, ends: false });
  t.is(answer.status, 408);
  t.is((await ask('{ __typename }')).status, 200);
});

test('many unfinished bodies together hold no more than is set, and others are served once they are gone', async (t) => {
  const { url, post } = await gatewayMesh(t, {
    env: { GATEWAY_MAX_BODIES_BYTES: '600000', GATEWAY_REQUEST_TIMEOUT_MS: '1500' },
  });
  const part = 'x'.repeat(250_000);
  const unfinished = [1, 2].map(() =>
    rawPost(url, { body: [part], headers: { 'transfer-encoding': 'chunked' }, ends: false }),
  );
  const body = JSON.stringify({ query: '{ __typename }', variables: { v: part } });
  await eventually('there is no room', async () => (await post(body)).status === 503);
  const refused = await post(body);
  t.like(refused.errors, [{ extensions: { code: 'UNAVAILABLE', statusCode: 503 } }]);
  const chunked = await rawPost(url, { body: [body], headers: { 'transfer-encoding': 'chunked' } });
  t.is(chunked.status, 503, 'nor for a body that does not say its length');
  for (const { status } of await Promise.all(unfinished)) t.is(status, 408);
  await eventually('there is room again', async () => (await post(body)).status === 200);
});

import { request } from 'node:http';
import { createGate } from '@parley/chassis/testing/gate';
import test from 'ava';
import { createAgent, endSession, readSession, startSession } from '../src/conversation.ts';
import { sharedMesh } from '../src/mesh.ts';
import { sharedModel } from '../src/scripted-model.ts';
import { servedOperations } from '../src/served-operations.ts';

/** The proxy in front of the gateways comes from here, as tests configure them; who comes from elsewhere is believed nothing. */
const proxy = '127.0.0.1';
const model = sharedModel(test);
const mesh = sharedMesh(test, async () => ({ ...(await model()).env, TRUSTED_PROXIES: `${proxy}/32` }));

/** The gateways in turn: what one has counted holds at all. */
async function inTurn(): Promise<() => string> {
  const { gateways } = await mesh();
  let n = 0;
  return () => gateways[n++ % gateways.length] ?? '';
}

interface Sent {
  from: string;
  forwardedFor?: string;
  query: string;
  variables?: object;
  token?: string | undefined;
}

/** One request from an address of this machine, with whatever is said about where it comes from. */
function send(url: string, { from, forwardedFor, query, variables = {}, token }: Sent) {
  const body = JSON.stringify({ query, variables });
  interface Told {
    status: number;
    /** How the client's window stands: told with every answer of a throttled operation, passed or refused. */
    policy: string | string[] | undefined;
    retryAfter: string | undefined;
    text: string;
  }
  return new Promise<Told>((resolve, reject) => {
    const outgoing = request(url, {
      method: 'POST',
      localAddress: from,
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'x-app-platform': 'customer',
        ...(forwardedFor && { 'x-forwarded-for': forwardedFor }),
        ...(token && { authorization: `Bearer ${token}` }),
      },
    });
    outgoing.once('error', reject);
    outgoing.once('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      response.once('error', reject);
      response.once('end', () => {
        const { statusCode = 0, headers } = response;
        resolve({
          status: statusCode,
          policy: headers['ratelimit-policy'],
          retryAfter: headers['retry-after'],
          text,
        });
      });
    });
    outgoing.end(body);
  });
}

test('every throttled operation passes as often as its window says, then is 429 for that address alone', async (t) => {
  const { visitor } = await mesh();
  const gateway = await inTurn();
  const throttled = (await servedOperations(visitor())).filter(({ throttle }) => throttle);
  t.true(throttled.length >= 4);
  for (const [n, operation] of throttled.entries()) {
    const { requests, windowSeconds } = operation.throttle ?? { requests: 0, windowSeconds: 0 };
    const { document: query, name } = operation;
    const variables = operation.variables();
    const via = (client: string) => send(gateway(), { from: proxy, forwardedFor: client, query, variables });
    const one = `203.0.113.${n + 1}`;
    for (let i = 0; i < requests; i += 1) {
      const { status, policy } = await via(one);
      t.is(status, 200, `${name}, request ${i + 1}`);
      t.is(policy, `"${name}";q=${requests};w=${windowSeconds}`);
    }
    const refused = await via(one);
    t.is(refused.status, 429, name);
    t.regex(refused.text, /"TOO_MANY_REQUESTS"/);
    const seconds = Number(refused.retryAfter);
    t.true(seconds > 0 && seconds <= windowSeconds, `${name}: ${refused.retryAfter}`);
    t.is((await via(`6.6.6.6, ${one}`)).status, 429, `${name}: what a client says before the proxy speaks`);
    t.is((await via(`198.51.100.${n + 1}`)).status, 200, `${name}: another address`);

    // One document of more than the window takes counts nothing; one of just as many counts each.
    const many = (client: string, count: number) =>
      send(gateway(), { from: proxy, forwardedFor: client, query: operation.repeated(count), variables });
    const other = `192.0.2.${n + 1}`;
    t.is((await many(other, requests + 1)).status, 429, name);
    t.is((await many(other, requests)).status, 200, name);
    t.is((await via(other)).status, 429, `${name}: aliases count one by one`);
  }
});

test('a forged X-Forwarded-For from a socket that is no proxy changes nothing', async (t) => {
  const { visitor } = await mesh();
  const gateway = await inTurn();
  const throttled = (await servedOperations(visitor())).filter(({ throttle }) => throttle);
  for (const operation of throttled) {
    const { document: query, name } = operation;
    const variables = operation.variables();
    const forged = (n: number) =>
      send(gateway(), { from: '127.0.0.5', forwardedFor: `203.0.113.${100 + n}`, query, variables });
    const requests = operation.throttle?.requests ?? 0;
    for (let n = 0; n < requests; n += 1) t.is((await forged(n)).status, 200, name);
    t.is((await forged(requests)).status, 429, name);
    t.is(
      (await send(gateway(), { from: '127.0.0.6', query, variables })).status,
      200,
      `${name}: another socket's address`,
    );
  }
});

// A busy machine may take longer than a minute for them. What holds however long it takes: no answer tells of a window, as all
// of a throttled operation do (above), so that nothing counts how many of them fall into one.
test('three hundred messages of a minute from one address, over several sessions, all pass, and nothing counts them', async (t) => {
  t.timeout(180_000);
  const { person, visitor } = await mesh();
  const sending = (await servedOperations(visitor())).find(({ name }) => name === 'sendMessage');
  t.true(sending !== undefined && sending.throttle === undefined);
  const gateway = await inTurn();
  const ada = await person();
  const agentId = await createAgent(ada);
  const sessions = await Promise.all(Array.from({ length: 5 }, () => startSession(ada, agentId)));
  const gate = createGate(); // nobody is answered: what is sent is what counts here
  const texts = Array.from({ length: 300 }, (_, n) => `Message ${n} of three hundred`);
  for (const text of texts) (await model()).answer(text, { beforeHeaders: gate });
  const query = 'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { id } }';
  const from = performance.now();
  while (texts.length > 0) {
    const answers = await Promise.all(
      texts.splice(0, 10).map((text, n) => {
        const variables = { input: { sessionId: sessions[n % sessions.length]?.id, text } };
        return send(gateway(), { from: '127.0.0.7', query, variables, token: ada.tokens?.accessToken });
      }),
    );
    for (const { status, policy, retryAfter, text } of answers) {
      t.is(status, 200);
      t.notRegex(text, /"errors"/);
      t.deepEqual([policy, retryAfter], [undefined, undefined]);
    }
  }
  t.log(`sent within ${Math.round((performance.now() - from) / 1_000)} s`);
  const kept = await Promise.all(sessions.map(({ id }) => readSession(ada, id)));
  t.is(kept.flatMap(({ messages }) => messages).filter(({ role }) => role === 'USER').length, 300);
  for (const { id } of sessions) await endSession(ada, id); // else whoever comes to this mesh later answers them
});

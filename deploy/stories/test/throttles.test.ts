import { randomInt } from 'node:crypto';
import { request } from 'node:http';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { createAgent, endSession, readSession, startSession } from '../src/conversation.ts';
import type { TestMesh } from '../src/mesh.ts';
import { servedOperations } from '../src/operations.ts';
import { stories } from '../src/stories.ts';

/** The address of the trusted proxy. Forwarded addresses from any other peer are ignored. */
const proxy = '127.0.0.1';
const story = stories(test, { on: 'processes' });

/** Returns a function that returns the gateways' URLs in rotation. The gateways share one counter. */
function alternating({ gateways }: TestMesh): () => string {
  let n = 0;
  return () => gateways[n++ % gateways.length] ?? '';
}

/** Returns a random address, because other tests may already have used up an address's current window. */
const addressIn = (network: number) => `${network}.${randomInt(256)}.${randomInt(256)}.${randomInt(2, 255)}`;

interface Sent {
  from: string;
  forwardedFor?: string;
  query: string;
  variables?: object;
  token?: string | undefined;
  apiKey?: string | undefined;
}

/** Sends one request from a local address, with any forwarding headers. */
function send(url: string, { from, forwardedFor, query, variables = {}, token, apiKey }: Sent) {
  const body = JSON.stringify({ query, variables });
  interface Answer {
    status: number;
    /** The rate limit header. Every response of a throttled operation has it, allowed or refused. */
    policy: string | string[] | undefined;
    retryAfter: string | undefined;
    text: string;
  }
  return new Promise<Answer>((resolve, reject) => {
    const outgoing = request(url, {
      method: 'POST',
      localAddress: from,
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'x-app-platform': 'customer',
        ...(forwardedFor && { 'x-forwarded-for': forwardedFor }),
        ...(token && { authorization: `Bearer ${token}` }),
        ...(apiKey && { 'x-api-key': apiKey }),
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

/** With more aliases, a document would exceed the complexity limit. */
const maxAliases = 24;

/**
 * Returns one credential of each kind, so that every operation finds one that it accepts. Requests that are refused before the throttle
 * would not be counted.
 */
async function everyCredential(mesh: TestMesh): Promise<Pick<Sent, 'token' | 'apiKey'>> {
  const owner = await mesh.person();
  const { apiKey } = await owner.withApiKey();
  return { token: owner.tokens?.accessToken, apiKey };
}

story(
  'every throttled operation is accepted as often as its limit allows, then refused with 429 for that address only',
  async (t, mesh) => {
    const gateway = alternating(mesh);
    const credentials = await everyCredential(mesh);
    const throttled = servedOperations().filter(({ throttle }) => throttle);
    t.true(throttled.length >= 4);
    for (const operation of throttled) {
      const { requests, windowSeconds } = operation.throttle ?? { requests: 0, windowSeconds: 0 };
      const { document: query, name } = operation;
      const variables = operation.variables();
      const via = (client: string) =>
        send(gateway(), { from: proxy, forwardedFor: client, query, variables, ...credentials });
      const one = addressIn(203);
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
      t.is((await via(addressIn(198))).status, 200, `${name}: another address`);

      if (requests > maxAliases) continue;
      // A document with more aliases than the limit allows is refused and not counted. In a document with exactly as many aliases as
      // allowed, each alias counts as a request.
      const many = (client: string, count: number) =>
        send(gateway(), {
          from: proxy,
          forwardedFor: client,
          query: operation.repeated(count),
          variables,
          ...credentials,
        });
      const other = addressIn(192);
      t.is((await many(other, requests + 1)).status, 429, name);
      t.is((await many(other, requests)).status, 200, name);
      t.is((await via(other)).status, 429, `${name}: aliases count one by one`);
    }
  },
);

story('a forged X-Forwarded-For from a socket that is not a proxy has no effect', async (t, mesh) => {
  const gateway = alternating(mesh);
  const credentials = await everyCredential(mesh);
  const throttled = servedOperations().filter(({ throttle }) => throttle);
  for (const operation of throttled) {
    const { document: query, name } = operation;
    const variables = operation.variables();
    const from = addressIn(127);
    const forged = () => send(gateway(), { from, forwardedFor: addressIn(203), query, variables, ...credentials });
    const requests = operation.throttle?.requests ?? 0;
    for (let n = 0; n < requests; n += 1) t.is((await forged()).status, 200, name);
    t.is((await forged()).status, 429, name);
    t.is(
      (await send(gateway(), { from: addressIn(127), query, variables, ...credentials })).status,
      200,
      `${name}: another socket's address`,
    );
  }
});

// On a busy machine, sending all messages may take longer than a minute. So the story asserts something else: no response has a rate limit
// header. Every throttled operation sends this header, so the messages are not counted.
story(
  'three hundred messages a minute from one address, over several sessions, are all accepted and not counted',
  async (t, mesh) => {
    t.timeout(180_000);
    const { person } = mesh;
    // allow-name sendMessage: the operation that this story sends.
    const sending = servedOperations().find(({ name }) => name === 'sendMessage');
    t.true(sending !== undefined && sending.throttle === undefined);
    const gateway = alternating(mesh);
    const ada = await person();
    const agentId = await createAgent(ada);
    const sessions = await Promise.all(Array.from({ length: 5 }, () => startSession(ada, agentId)));
    const gate = createGate(); // this gate is never opened: the story counts sent messages, not replies
    const texts = Array.from({ length: 300 }, (_, n) => `Message ${n} of three hundred`);
    for (const text of texts) mesh.model.answer(text, { beforeHeaders: gate });
    const query = 'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { id } }';
    const from = addressIn(127);
    const begun = performance.now();
    while (texts.length > 0) {
      const answers = await Promise.all(
        texts.splice(0, 10).map((text, n) => {
          const variables = { input: { sessionId: sessions[n % sessions.length]?.id, text } };
          return send(gateway(), { from, query, variables, token: ada.tokens?.accessToken });
        }),
      );
      for (const { status, policy, retryAfter, text } of answers) {
        t.is(status, 200);
        t.notRegex(text, /"errors"/);
        t.deepEqual([policy, retryAfter], [undefined, undefined]);
      }
    }
    t.log(`sent within ${Math.round((performance.now() - begun) / 1_000)} s`);
    const kept = await Promise.all(sessions.map(({ id }) => readSession(ada, id)));
    t.is(kept.flatMap(({ messages }) => messages).filter(({ role }) => role === 'USER').length, 300);
    for (const { id } of sessions) await endSession(ada, id); // otherwise the mesh would reply to the messages during later tests
  },
);

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { listen } from '@parley/kernel/http/listen';
import test, { type ExecutionContext } from 'ava';
import { startDemoServer } from '../src/demo-server.ts';

interface Start {
  status: number;
  text: string;
}

/**
 * Starts the demo page's server with a fake API whose `sdkStart` is scripted per API key, for failures that a test cannot cause in a real
 * API.
 */
async function demo(t: ExecutionContext, answerTo: (apiKey: string) => object | undefined) {
  const folder = await mkdtemp(join(tmpdir(), 'parley-demo-'));
  const file = join(folder, 'demo.json');
  let registrations = 0;
  const api = createServer(async (request, response) => {
    const { query } = (await json(request)) as { query: string };
    let answer: object | undefined;
    if (/register/u.test(query)) {
      registrations += 1;
      answer = { data: { register: { accessToken: 'token' } } };
    } else if (/createAgent/u.test(query)) answer = { data: { createAgent: { id: 5 } } };
    else if (/generateApiKey/u.test(query)) answer = { data: { generateApiKey: { key: `key ${registrations}` } } };
    else answer = answerTo(String(request.headers['x-api-key']));
    if (!answer) return response.destroy();
    return response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
  });
  const endpoint = `http://${await listen(api)}/graphql`;
  const server = await startDemoServer({ port: 0, endpoint, file, log: { error: () => undefined } });
  t.teardown(async () => {
    await server.stop();
    api.closeAllConnections();
    api.close();
    await rm(folder, { recursive: true });
  });
  return {
    url: server.url,
    kept: async () => JSON.parse(await readFile(file, 'utf8')) as object,
    keep: (tenant: object) => writeFile(file, JSON.stringify(tenant)),
    registrations: () => registrations,
    async start(): Promise<Start> {
      const response = await fetch(new URL('session', server.url), { method: 'POST' });
      return { status: response.status, text: await response.text() };
    },
  };
}

const started = () => ({
  data: { sdkStart: { sessionId: 7, avatarToken: 'of the session', ttsVoice: 'en-us+f3', ttsLang: 'en-US' } },
});
const refusal = (code: string, reason?: string) => ({
  errors: [{ message: `refused: ${code}`, extensions: { code, ...(reason && { reason }) } }],
});

test('the first session makes a tenant, which later ones share', async (t) => {
  const { start, registrations, kept } = await demo(t, started);
  const answers = await Promise.all([start(), start()]);
  for (const { status, text } of [...answers, await start()]) {
    t.is(status, 200);
    t.like(JSON.parse(text), { sessionId: 7, token: 'of the session' });
  }
  t.is(registrations(), 1);
  t.deepEqual(await kept(), { agentId: 5, apiKey: 'key 1' });
});

for (const code of ['TOO_MANY_REQUESTS', 'UNAVAILABLE', 'BAD_REQUEST', 'INTERNAL']) {
  test(`an answer ${code} leaves the tenant as it is, and is shown`, async (t) => {
    let answer: object = refusal(code);
    const { start, registrations, keep, kept } = await demo(t, () => answer);
    const tenant = { agentId: 5, apiKey: 'kept' };
    await keep(tenant);
    t.deepEqual(await start(), { status: 500, text: `refused: ${code}` });
    t.is(registrations(), 0);
    t.deepEqual(await kept(), tenant);
    answer = started();
    t.is((await start()).status, 200);
  });
}

test('a lost connection leaves the tenant as it is', async (t) => {
  const { start, registrations, keep } = await demo(t, () => undefined);
  await keep({ agentId: 5, apiKey: 'kept' });
  t.is((await start()).status, 500);
  t.is(registrations(), 0);
});

for (const gone of [refusal('UNAUTHENTICATED'), refusal('NOT_FOUND'), refusal('FORBIDDEN', 'NO_TENANT')]) {
  const { code } = gone.errors[0]?.extensions ?? {};
  test(`a tenant whose key or agent is gone (${code}) is replaced once, also for requests at one time`, async (t) => {
    const { start, registrations, keep, kept } = await demo(t, (apiKey) => (apiKey === 'kept' ? gone : started()));
    await keep({ agentId: 4, apiKey: 'kept' });
    const answers = await Promise.all([start(), start(), start()]);
    t.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200],
    );
    t.is(registrations(), 1);
    t.deepEqual(await kept(), { agentId: 5, apiKey: 'key 1' });
  });
}

for (const path of ['toString', 'constructor', '__proto__', 'hasOwnProperty', 'nothing.js']) {
  test(`/${path} is not found`, async (t) => {
    const { url } = await demo(t, started);
    t.is((await fetch(new URL(path, url))).status, 404);
  });
}

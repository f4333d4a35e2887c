import { createHash, createHmac } from 'node:crypto';
import { createGate } from '@parley/testing/gate';
import type { ReceivedRequest } from '@parley/testing/model-server';
import test from 'ava';
import { type ApiName, apis } from './testing/apis.ts';
import { answerOf, ask, eventsOf, failureOf, modelOn, uncancelled } from './testing/model-on-server.ts';

const conversation = {
  system: 'You are Ada.',
  messages: [
    { role: 'assistant' as const, text: 'Welcome' },
    { role: 'user' as const, text: 'Hi' },
    { role: 'user' as const, text: 'Still there?' },
    { role: 'assistant' as const, text: 'Yes' },
    { role: 'user' as const, text: 'Half a character: \ud83d' },
  ],
};
const system = 'You are Ada.\n\nYou opened the conversation with these words:\nWelcome';
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** Returns the text of a message in any format. */
function said(content: unknown): string {
  if (typeof content === 'string') return content;
  return (content as { text?: string }[]).map(({ text = '' }) => text).join('');
}

interface Sent {
  messages?: { role: string; content: unknown }[];
  system?: unknown;
  systemInstruction?: { parts: unknown };
}

const systemIn: Record<ApiName, (body: Sent) => unknown> = {
  'openai-compatible': ({ messages }) => messages?.[0]?.role === 'system' && messages[0].content,
  openai: ({ messages }) => messages?.[0]?.role === 'system' && messages[0].content,
  anthropic: (body) => said(body.system),
  google: ({ systemInstruction }) => said(systemInstruction?.parts),
  bedrock: (body) => said(body.system),
};

for (const api of apis) {
  test(`${api}: a request has the system prompt in its own place, alternating roles and the maximum of tokens`, async (t) => {
    const { model, server } = await modelOn(t, {}, { api, key: 'id:secret', modelId: 'm-1', maxOutputTokens: 100 });
    await answerOf(model, { ...conversation, maxOutputTokens: 5_000 });
    await answerOf(model, { ...conversation, maxOutputTokens: 20 });

    for (const [at, { body, text }] of server.requests.entries()) {
      t.is(systemIn[api](JSON.parse(text)), system);
      t.deepEqual(
        body.messages.map(({ role, content }) => [role, said(content)]),
        [
          ['system', system],
          ['user', 'Hi\n\nStill there?'],
          ['assistant', 'Yes'],
          ['user', 'Half a character: \ufffd'],
        ],
      );
      t.is(body.model, 'm-1');
      t.true(body.stream);
      t.is(body.max_tokens, [100, 20][at]);
    }
  });

  test(`${api}: the provider's figures are used, cached input with them`, async (t) => {
    const usage = { prompt_tokens: 1_000, completion_tokens: 7, cached_tokens: 600 };
    const { model } = await modelOn(t, { text: 'One two three', usage }, { api, key: 'id:secret' });
    const figures = { tokensIn: 1_000, tokensCached: 600, tokensOut: 7, estimated: false };

    const events = await eventsOf(model.stream(ask('Count'), uncancelled));
    t.deepEqual(events, [
      { type: 'text', text: 'One' },
      { type: 'text', text: ' two' },
      { type: 'text', text: ' three' },
      { type: 'finish', finishReason: 'stop', ...figures },
    ]);
  });

  test(`${api}: a request for JSON has its schema, and the answer is JSON`, async (t) => {
    const { model, server } = await modelOn(t, { json: { score: 80 } }, { api, key: 'id:secret' });
    const schema = {
      type: 'object',
      properties: { score: { type: 'integer' } },
      required: ['score'],
      additionalProperties: false,
    };
    const request = ask('Judge', { json: { schema, name: 'judgement' } });

    t.deepEqual(JSON.parse((await answerOf(model, request)).text), { score: 80 });
    const [{ body } = {}] = server.requests;
    t.like(body?.response_format?.json_schema?.schema, { properties: { score: { type: 'integer' } } });
  });

  test(`${api}: the finish reason of a cut answer is passed on`, async (t) => {
    const { model, server } = await modelOn(t, { text: 'Half an', ending: 'length' }, { api, key: 'id:secret' });
    t.like(await answerOf(model, ask('Tell')), { text: 'Half an', finishReason: 'length' });

    server.answerWith({ text: 'Half an', ending: 'content_filter' });
    t.like(await answerOf(model, ask('Tell')), { text: 'Half an', finishReason: 'contentFilter' });
  });

  test(`${api}: images reach a model with vision, with the last message, and no other model`, async (t) => {
    const images = [`data:image/png;base64,${pixel}`];
    const request = { ...conversation, images };
    const seeing = await modelOn(t, {}, { api, key: 'id:secret', vision: true });
    const blind = await modelOn(t, {}, { api, key: 'id:secret', vision: false });
    for (const { model } of [seeing, blind]) await answerOf(model, request);

    for (const { text, body } of seeing.server.requests) {
      t.is(text.split(pixel).length, 2, 'once');
      t.true(JSON.stringify(body.messages.at(-1)).includes(pixel));
    }
    for (const { text } of blind.server.requests) t.false(text.includes(pixel.slice(0, 20)));
  });

  test(`${api}: an image that is no data URL is neither sent nor fetched`, async (t) => {
    const { model, server } = await modelOn(t, {}, { api, key: 'id:secret', vision: true });
    const images = [`${server.url}/models`, 'data:text/html;base64,PGI+', 'file:///etc/passwd'];
    await answerOf(model, ask('Look', { images }));

    t.is(server.connections, 1);
    t.notRegex(server.requests[0]?.text ?? '', /models"|PGI|passwd/u);
  });

  test(`${api}: calls one after another use the same connections`, async (t) => {
    const { model, server } = await modelOn(t, {}, { api, key: 'id:secret' });
    for (let call = 0; call < 8; call += 1) await answerOf(model, ask('Tell'));
    // A second connection is allowed, because a call may begin before the socket of the call before it is free again.
    t.true(server.connections <= 2);
    t.is(server.counts.finished, 8);
  });

  test(`${api}: cancelling a call closes its request, and leaving a stream too`, async (t) => {
    const never = createGate();
    const { model, server, logged } = await modelOn(t, { beforeHeaders: never }, { api, key: 'id:secret' });
    const controller = new AbortController();
    const reason = new Error('interrupted');
    const streamed = eventsOf(model.stream(ask('Tell'), controller));
    await server.until(({ counts }) => counts.running === 1);
    controller.abort(reason);
    t.is(await t.throwsAsync(streamed), reason);
    await server.until(({ counts }) => counts.cancelled === 1);

    server.answerWith({ text: 'One', ending: 'never' });
    for await (const event of model.stream(ask('Tell'), uncancelled)) {
      t.is(event.type, 'text');
      break;
    }
    await server.until(({ counts }) => counts.cancelled === 2);
    t.deepEqual(logged, []);
  });

  test(`${api}: keys and the conversation are in no log line and in no error`, async (t) => {
    const key = 'canary-id:canary-secret:canary-token';
    const said = [
      'Invalid key canary-secret of canary-id (canary-id:canary-secret:canary-token)',
      'No answer for: my whole prompt of today',
    ];
    const bodies = said.flatMap((message) => {
      const error = { message, type: message, code: message, status: message };
      return [message, JSON.stringify({ ...error, error })];
    });
    for (const status of [400, 401, 404, 429, 500]) {
      for (const body of bodies) {
        const { model, logged } = await modelOn(t, { status, body }, { api, key });
        const { error } = await failureOf(model.stream(ask('my whole prompt of today'), uncancelled));
        t.notRegex(JSON.stringify([{ ...error }, error.message, error.stack]), /canary|prompt|127\.0/u);
        t.is(logged.length, 1);
        t.notRegex(JSON.stringify(logged), /canary|prompt/u);
      }
    }
  });
}

test('the log contains what an operator needs to know about a failure', async (t) => {
  const body = JSON.stringify({ error: { message: 'CUDA out of memory', type: 'server_error' } });
  const { model, logged } = await modelOn(t, { status: 500, body }, { key: 'key' });
  await failureOf(model.stream(ask('Hi'), uncancelled));

  t.regex(String(logged[0]?.['fault']), /^http:\/\/127\.0\.0\.1:\d+: HTTP 500 server_error CUDA out of memory$/u);
});

const headerOf: Partial<Record<ApiName, (headers: ReceivedRequest['headers']) => unknown>> = {
  'openai-compatible': ({ authorization }) => authorization === 'Bearer the-key',
  openai: ({ authorization }) => authorization === 'Bearer the-key',
  anthropic: (headers) => headers['x-api-key'] === 'the-key',
  google: (headers) => headers['x-goog-api-key'] === 'the-key',
  bedrock: ({ authorization }) => authorization === 'Bearer the-key',
};

for (const api of apis) {
  test(`${api}: the key is sent in the header of its format alone, and none without a key`, async (t) => {
    const { model, server } = await modelOn(t, {}, { api, key: 'the-key' });
    await eventsOf(model.stream(ask('Tell'), uncancelled));
    const [request] = server.requests;

    t.true(headerOf[api]?.(request?.headers ?? {}));
    t.is(JSON.stringify(request).split('the-key').length, 2, 'once');
    t.is(request?.headers['accept-encoding'], 'identity');
    if (api === 'bedrock') return;
    const keyless = await modelOn(t, {}, { api });
    await eventsOf(keyless.model.stream(ask('Tell'), uncancelled));
    const names = Object.keys(keyless.server.requests[0]?.headers ?? {});
    t.deepEqual(
      names.filter((name) => /authorization|key/u.test(name)),
      [],
    );
  });
}

test('requests to Bedrock have a valid AWS signature for the region', async (t) => {
  const key = 'AKIDEXAMPLE:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY:a-session-token==';
  const modelId = 'arn:aws:bedrock:eu-central-1:123456789012:inference-profile/eu.amazon.nova-lite-v1:0';
  const { model, server } = await modelOn(t, {}, { api: 'bedrock', region: 'eu-central-1', key, modelId });
  await answerOf(model, ask('Grüße'));

  for (const { headers, path, text, body } of server.requests) {
    const { date, region, service, names, signature } =
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/(?<date>\d{8})\/(?<region>[^/]+)\/(?<service>[^/]+)\/aws4_request, SignedHeaders=(?<names>[^,]+), Signature=(?<signature>[\da-f]{64})$/u.exec(
        headers.authorization ?? '',
      )?.groups ?? {};
    t.deepEqual([region, service], ['eu-central-1', 'bedrock']);
    t.is(headers['x-amz-security-token'], 'a-session-token==');
    t.is(body.model, modelId);
    const signed = (names ?? '').split(';');
    for (const name of ['host', 'x-amz-date', 'x-amz-security-token']) t.true(signed.includes(name), name);
    t.is(signature, signatureOf({ headers, path, text, signed, secret: key.split(':')[1] ?? '', date: date ?? '' }));
  }
});

interface Signed {
  headers: ReceivedRequest['headers'];
  path: string;
  text: string;
  signed: string[];
  secret: string;
  date: string;
}

/** Computes an AWS Signature Version 4, following AWS's description. */
function signatureOf({ headers, path, text, signed, secret, date }: Signed): string {
  const sha256 = (data: string) => createHash('sha256').update(data).digest('hex');
  const hmac = (by: string | Buffer, data: string) => createHmac('sha256', by).update(data).digest();
  const canonical = [
    'POST',
    path.split('/').map(encodeURIComponent).join('/'),
    '',
    ...signed.map((name) => `${name}:${String(headers[name]).trim().replaceAll(/\s+/gu, ' ')}`),
    '',
    signed.join(';'),
    sha256(text),
  ].join('\n');
  const scope = `${date}/eu-central-1/bedrock/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(canonical)].join('\n');
  const signingKey = [date, 'eu-central-1', 'bedrock', 'aws4_request'].reduce(hmac, Buffer.from(`AWS4${secret}`));
  return hmac(signingKey, toSign).toString('hex');
}

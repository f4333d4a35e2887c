import { createGate } from '@parley/testing/gate';
import { startModelServer } from '@parley/testing/model-server';
import test from 'ava';
import type { ModelErrorKind } from './model-error.ts';
import { ask, eventsOf, failureOf, modelOn, textOf, uncancelled } from './testing/model-on-server.ts';

const STATUSES: [status: number, kind: ModelErrorKind, retryable: boolean][] = [
  [307, 'failed', false],
  [400, 'badRequest', false],
  [401, 'refused', false],
  [403, 'refused', false],
  [404, 'unknownModel', false],
  [408, 'timedOut', true],
  [413, 'tooLong', false],
  [422, 'badRequest', false],
  [429, 'rateLimited', true],
  [500, 'failed', true],
  [503, 'failed', true],
];

for (const [status, kind, retryable] of STATUSES) {
  test(`HTTP status ${status} is the error ${kind}`, async (t) => {
    const { model, server } = await modelOn(t, { status, headers: { location: '/v1/models' } });
    const { error } = await failureOf(model.stream(ask('Tell'), uncancelled));

    t.like(error, { kind, retryable, beforeFirstChunk: true, usage: { tokensIn: 0, tokensOut: 0 } });
    t.is(server.counts.started, 1, 'no retry, no redirect followed');
  });
}

test('a 400 with model_not_found is unknownModel', async (t) => {
  const body = JSON.stringify({ error: { message: 'No such model', code: 'model_not_found' } });
  const { model } = await modelOn(t, { status: 400, body });

  t.is((await failureOf(model.stream(ask('Tell'), uncancelled))).error.kind, 'unknownModel');
});

const longer = 'than the maximum; please reduce it';
for (const [who, status, body] of [
  ['OpenAI', 400, { error: { message: longer, type: 'invalid_request_error', code: 'context_length_exceeded' } }],
  [
    'vLLM',
    400,
    {
      error: { message: "This model's maximum context length is 4096 tokens. However, you requested 5000", code: 400 },
    },
  ],
  [
    'vLLM before 0.10',
    400,
    { object: 'error', message: "This model's maximum context length is 4096 tokens.", code: 400 },
  ],
  ['llama.cpp', 400, { error: { code: 400, message: longer, type: 'exceed_context_size_error', n_ctx: 4096 } }],
  [
    'Anthropic',
    400,
    { error: { type: 'invalid_request_error', message: 'prompt is too long: 208310 tokens > 200000 maximum' } },
  ],
  [
    'Google',
    400,
    {
      error: {
        code: 400,
        message: 'The input token count (40000) exceeds the maximum number of tokens allowed (32768).',
      },
    },
  ],
] as const) {
  test(`a request that exceeds the context is tooLong: ${who}`, async (t) => {
    const { model, logged } = await modelOn(t, { status, body: JSON.stringify(body) });
    const { error } = await failureOf(model.stream(ask('Tell'), uncancelled));
    t.like(error, { kind: 'tooLong', retryable: false, message: 'The request is longer than the model takes' });
    t.notRegex(String(logged[0]?.fault), /maximum/);
  });
}

test('an error within a 200 may say that the request exceeds the context', async (t) => {
  const { model } = await modelOn(t, { text: '', ending: 'error-event', error: 'context_length_exceeded' });
  t.like((await failureOf(model.stream(ask('Tell'), uncancelled))).error, { kind: 'tooLong', retryable: false });
});

test('other refusals that mention tokens or context are badRequest', async (t) => {
  for (const message of ['Invalid token in header', 'max_tokens must be at least 1', "Unknown parameter: 'context'"]) {
    const { model } = await modelOn(t, { status: 400, body: JSON.stringify({ error: { message } }) });
    t.is((await failureOf(model.stream(ask('Tell'), uncancelled))).error.kind, 'badRequest', message);
  }
});

test('a refused connection is unreachable', async (t) => {
  const stopped = await startModelServer();
  await stopped.stop();
  const { model, logged } = await modelOn(t, {}, { url: stopped.url });

  const { error } = await failureOf(model.stream(ask('Tell'), uncancelled));
  t.like(error, { kind: 'unreachable', retryable: true, beforeFirstChunk: true });
  t.regex(String(logged[0]?.fault), /ECONNREFUSED/u);
});

test('a connection that closes without a response is unreachable', async (t) => {
  const dying = await startModelServer({ script: { beforeHeaders: createGate() } });
  const { model } = await modelOn(t, {}, { url: dying.url });
  const failed = failureOf(model.stream(ask('Tell'), uncancelled));
  await dying.until(({ counts }) => counts.running === 1);
  await dying.stop();

  t.like((await failed).error, { kind: 'unreachable', retryable: true, beforeFirstChunk: true });
});

test('a request without a response is cancelled after the first-token timeout', async (t) => {
  const { model, server } = await modelOn(t, { beforeHeaders: createGate() }, { firstTokenTimeoutMs: 1_000 });
  const { error } = await failureOf(model.stream(ask('Tell'), uncancelled));

  t.like(error, { kind: 'timedOut', retryable: true, beforeFirstChunk: true });
  await server.until(({ counts }) => counts.cancelled === 1);
});

test('response headers do not end the first-token timeout', async (t) => {
  const { model } = await modelOn(t, { beforeDelta: createGate() }, { firstTokenTimeoutMs: 500 });

  t.like((await failureOf(model.stream(ask('Tell'), uncancelled))).error, { kind: 'timedOut', beforeFirstChunk: true });
});

test('a stream that pauses is cancelled after the idle timeout', async (t) => {
  const { model, server } = await modelOn(t, { text: 'One two', ending: 'never' }, { idleTimeoutMs: 1_000 });
  const { text, error } = await failureOf(model.stream(ask('Count'), uncancelled));

  t.is(text, 'One two');
  t.like(error, { kind: 'timedOut', retryable: false, beforeFirstChunk: false, usage: { tokensIn: 5, tokensOut: 2 } });
  await server.until(({ counts }) => counts.cancelled === 1);
});

test('a slow stream is cancelled after the answer timeout', async (t) => {
  const beforeByte = createGate();
  const script = { text: 'word '.repeat(200), packets: 'byte' as const, beforeByte };
  const { model, server } = await modelOn(t, script, { callTimeoutMs: 1_500 });
  beforeByte.release(400);
  const trickle = setInterval(() => beforeByte.release(), 5);
  t.teardown(() => clearInterval(trickle));

  const { text, error } = await failureOf(model.stream(ask('Tell'), uncancelled));
  t.true(script.text.startsWith(text));
  t.is(error.kind, 'timedOut');
  await server.until(({ counts }) => counts.cancelled === 1);
});

for (const ending of ['cut', 'error-event', 'malformed', 'unfinished'] as const) {
  test(`an answer that ends ${ending} fails after its text and is not retryable`, async (t) => {
    const { model, logged } = await modelOn(t, { text: 'One two', ending });
    const { text, error } = await failureOf(model.stream(ask('Count'), uncancelled));

    t.is(text, 'One two');
    t.like(error, { kind: 'failed', retryable: false, beforeFirstChunk: false, usage: { tokensIn: 5, tokensOut: 2 } });
    t.like(logged, [{ kind: 'failed', beforeFirstChunk: false, providerId: 'HOSTED_SMALL_MODEL', modelId: 'm' }]);
  });

  test(`an answer that ends ${ending} before its first text is retryable`, async (t) => {
    const { model } = await modelOn(t, { text: '', ending });

    const { error } = await failureOf(model.stream(ask('Count'), uncancelled));
    t.like(error, { kind: 'failed', retryable: true, beforeFirstChunk: true });
  });
}

test('an answer that ended normally without text is not retryable, one that never began is', async (t) => {
  const { model, server, logged } = await modelOn(t, { text: '' }, { connections: 1 });
  const failed = { kind: 'failed', beforeFirstChunk: true } as const;
  t.like((await failureOf(model.stream(ask('Tell'), uncancelled))).error, { ...failed, retryable: false });
  t.regex(String(logged[0]?.fault), /empty_answer$/u);
  await server.until(({ counts }) => counts.finished === 1);

  server.answerWith({ body: '' });
  t.like((await failureOf(model.stream(ask('Tell'), uncancelled))).error, { ...failed, retryable: true });
  server.answerWith({ status: 204, body: '' });
  t.like((await failureOf(model.stream(ask('Tell'), uncancelled))).error, { ...failed, retryable: true });
});

test('an HTML page instead of an answer is an error', async (t) => {
  const { model } = await modelOn(t, { body: '<html>Welcome</html>' });

  t.like((await failureOf(model.stream(ask('Tell'), uncancelled))).error, { kind: 'failed' });
});

test('an answer that exceeds maxAnswerBytes is cut', async (t) => {
  const { model } = await modelOn(t, { text: 'word '.repeat(20_000) }, { maxAnswerBytes: 100_000 });
  const { text, error } = await failureOf(model.stream(ask('Tell'), uncancelled));

  t.true(text.length < 100_000);
  t.like(error, { kind: 'failed', retryable: false });
});

test('calls that wait for a connection time out by their own deadline', async (t) => {
  const script = { beforeHeaders: createGate() };
  const { model, server } = await modelOn(t, script, { connections: 1, firstTokenTimeoutMs: 2_000 });
  const calls = await Promise.all(Array.from({ length: 3 }, () => failureOf(model.stream(ask('Tell'), uncancelled))));

  t.deepEqual(
    calls.map(({ error }) => error.kind),
    ['timedOut', 'timedOut', 'timedOut'],
  );
  server.answerWith({ text: 'Back again' });
  t.is(textOf(await eventsOf(model.stream(ask('Tell'), uncancelled))), 'Back again');
});

test('neither error nor log contains the request, the key or a quoting refusal', async (t) => {
  const quoted = JSON.stringify({
    error: { message: 'Invalid: my prompt, key canary-key', type: 'invalid_request_error', code: 'too_long' },
  });
  const { model, server, logged } = await modelOn(t, { status: 400, body: quoted }, { key: 'canary-key' });
  const refused = (await failureOf(model.stream(ask('my prompt'), uncancelled))).error;
  server.answerWith({ body: 'data: {"choices": "my prompt"}\n\n' });
  const malformed = (await failureOf(model.stream(ask('my prompt'), uncancelled))).error;

  t.is(refused.message, 'The model provider did not take the request');
  const shown = [refused, malformed].map((error) =>
    JSON.stringify({ ...error, message: error.message, stack: error.stack }),
  );
  for (const text of [...shown, JSON.stringify(logged)]) t.notRegex(text, /my prompt|canary/u);
  for (const text of shown) t.notRegex(text, /127\.0\.0\.1/u);
  t.regex(String(logged[0]?.fault), /127\.0\.0\.1:\d+: HTTP 400 too_long invalid_request_error$/u);
});

test('a name that a provider gives its error is logged where it looks like one, and says nothing of key or conversation', async (t) => {
  const key = 'Canary_KEY-1234';
  const names: [given: unknown, logged: string][] = [
    ['server_error', 'server_error'],
    ['InternalServerError', 'internalservererror'],
    ['throttlingException', 'throttlingexception'],
    ['UNAVAILABLE', 'unavailable'],
    ['overloaded', 'overloaded'],
    ['1301', '1301'],
    ['diagnosis', ''],
    ['Terror', ''],
    ['0123456789', ''],
    ['leukaemia_type', ''],
    ['LEUKAEMIA_TYPE', ''],
    [key, ''],
    [key.toLowerCase(), ''],
    ['Canary_KEY', ''],
    [`bad_${key.toUpperCase()}`, 'bad_[key]'],
  ];
  const { model, server, logged } = await modelOn(t, {}, { key });
  for (const [code, expected] of names) {
    server.answerWith({ status: 400, body: JSON.stringify({ error: { message: 'No', code } }) });
    await failureOf(model.stream(ask('Which leukaemia_type has this diagnosis?'), uncancelled));
    t.is(String(logged.at(-1)?.fault).replace(/^.*HTTP 400 ?/u, ''), expected, String(code));
  }
});

test("no part of a key is logged, in any case and at any place in a provider's message", async (t) => {
  const key = 'Canary-KEY-1234';
  const { model, server, logged } = await modelOn(t, {}, { key });
  for (const message of [key, key.toLowerCase(), key.toUpperCase(), `${'x'.repeat(281)} ${key}`]) {
    server.answerWith({ status: 503, body: JSON.stringify({ error: { message } }) });
    await failureOf(model.stream(ask('Tell'), uncancelled));
    t.notRegex(String(logged.at(-1)?.fault), /canar/iu, message);
  }
  server.answerWith({ status: 503, body: JSON.stringify({ error: { message: 'no words FOR MY PROMPT here' } }) });
  await failureOf(model.stream(ask('for my prompt'), uncancelled));
  t.regex(String(logged.at(-1)?.fault), /HTTP 503$/u);
});

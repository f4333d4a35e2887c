import { createGate } from '@parley/testing/gate';
import { startModelServer } from '@parley/testing/model-server';
import test from 'ava';
import type { ModelErrorKind } from './model-error.ts';
import { ask, eventsOf, failureOf, modelOn, patiently, textOf } from './testing/model-on-server.ts';

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
  test(`an answer of ${status} is the error ${kind}`, async (t) => {
    const { model, server } = await modelOn(t, { status, headers: { location: '/v1/models' } });
    const { error } = await failureOf(model.stream(ask('Tell'), patiently));

    t.like(error, { kind, retryable, beforeFirstChunk: true, usage: { tokensIn: 0, tokensOut: 0 } });
    t.like(await t.throwsAsync(model.generate(ask('Tell'), patiently)), { name: 'ModelError', kind, retryable });
    t.is(server.counts.started, 2, 'no retry, no redirect followed');
  });
}

test('a model that a 400 does not know is told from a bad request', async (t) => {
  const body = JSON.stringify({ error: { message: 'No such model', code: 'model_not_found' } });
  const { model } = await modelOn(t, { status: 400, body });

  t.is((await failureOf(model.stream(ask('Tell'), patiently))).error.kind, 'unknownModel');
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
  ['an error in a 200', 200, { error: { message: longer, code: 'context_length_exceeded' } }],
] as const) {
  test(`a request that is longer than the model takes is told from other bad ones: ${who}`, async (t) => {
    const { model, logged } = await modelOn(t, { status, body: JSON.stringify(body) });
    const error = await t.throwsAsync(model.generate(ask('Tell'), patiently));
    t.like(error, { kind: 'tooLong', retryable: false, message: 'The request is longer than the model takes' });
    t.notRegex(String(logged[0]?.fault), /maximum/);
  });
}

test('a refusal that only speaks of tokens is no request that is too long', async (t) => {
  for (const message of ['Invalid token in header', 'max_tokens must be at least 1', "Unknown parameter: 'context'"]) {
    const { model } = await modelOn(t, { status: 400, body: JSON.stringify({ error: { message } }) });
    t.like(await t.throwsAsync(model.generate(ask('Tell'), patiently)), { kind: 'badRequest' }, message);
  }
});

test('a provider where nobody listens is unreachable', async (t) => {
  const gone = await startModelServer();
  await gone.stop();
  const { model, logged } = await modelOn(t, {}, { url: gone.url });

  const { error } = await failureOf(model.stream(ask('Tell'), patiently));
  t.like(error, { kind: 'unreachable', retryable: true, beforeFirstChunk: true });
  t.like(await t.throwsAsync(model.generate(ask('Tell'), patiently)), { kind: 'unreachable' });
  t.regex(String(logged[0]?.fault), /ECONNREFUSED/u);
});

test('a connection that closes without any answer is unreachable', async (t) => {
  const { model } = await modelOn(t, { ending: 'cut' });

  t.like(await t.throwsAsync(model.generate(ask('Tell'), patiently)), { kind: 'unreachable', retryable: true });
});

test('a silent provider is left after the first-token timeout, and its request is cancelled', async (t) => {
  const { model, server } = await modelOn(t, { beforeHeaders: createGate() }, { firstTokenTimeoutMs: 1_000 });
  const { error } = await failureOf(model.stream(ask('Tell'), patiently));

  t.like(error, { kind: 'timedOut', retryable: true, beforeFirstChunk: true });
  await server.until(({ counts }) => counts.cancelled === 1);
});

test('headers alone are no first token', async (t) => {
  const { model } = await modelOn(t, { beforeDelta: createGate() }, { firstTokenTimeoutMs: 500 });

  t.like((await failureOf(model.stream(ask('Tell'), patiently))).error, { kind: 'timedOut', beforeFirstChunk: true });
});

test('a provider that falls silent in the middle is left after the idle timeout', async (t) => {
  const { model, server } = await modelOn(t, { text: 'One two', ending: 'never' }, { idleTimeoutMs: 1_000 });
  const { text, error } = await failureOf(model.stream(ask('Count'), patiently));

  t.is(text, 'One two');
  t.like(error, { kind: 'timedOut', retryable: false, beforeFirstChunk: false, usage: { tokensIn: 5, tokensOut: 2 } });
  await server.until(({ counts }) => counts.cancelled === 1);
});

test('an answer that trickles byte by byte is cut by the deadline of the answer', async (t) => {
  const beforeByte = createGate();
  const script = { text: 'word '.repeat(200), packets: 'byte' as const, beforeByte };
  const { model, server } = await modelOn(t, script, { answerTimeoutMs: 1_500 });
  beforeByte.release(400);
  const trickle = setInterval(() => beforeByte.release(), 5);
  t.teardown(() => clearInterval(trickle));

  const { text, error } = await failureOf(model.stream(ask('Tell'), patiently));
  t.true(script.text.startsWith(text));
  t.is(error.kind, 'timedOut');
  await server.until(({ counts }) => counts.cancelled === 1);
});

test('a whole answer that takes too long is given up', async (t) => {
  const { model, server } = await modelOn(t, { beforeHeaders: createGate() }, { answerTimeoutMs: 1_000 });

  t.like(await t.throwsAsync(model.generate(ask('Tell'), patiently)), { kind: 'timedOut', retryable: true });
  await server.until(({ counts }) => counts.cancelled === 1);
});

for (const ending of ['cut', 'error-event', 'malformed', 'unfinished'] as const) {
  test(`an answer that ends ${ending} fails after what it gave, and is not to be tried again`, async (t) => {
    const { model, logged } = await modelOn(t, { text: 'One two', ending });
    const { text, error } = await failureOf(model.stream(ask('Count'), patiently));

    t.is(text, 'One two');
    t.like(error, { kind: 'failed', retryable: false, beforeFirstChunk: false, usage: { tokensIn: 5, tokensOut: 2 } });
    t.like(logged, [{ kind: 'failed', beforeFirstChunk: false, providerId: 'HOSTED_SMALL_MODEL', modelId: 'm' }]);
  });

  test(`an answer that ends ${ending} before its first word may be tried again`, async (t) => {
    const { model } = await modelOn(t, { text: '', ending });

    const { error } = await failureOf(model.stream(ask('Count'), patiently));
    t.like(error, { kind: 'failed', retryable: true, beforeFirstChunk: true });
    const generated = await t.throwsAsync(model.generate(ask('Count'), patiently));
    t.like(generated, { kind: ending === 'cut' ? 'unreachable' : 'failed', retryable: true });
  });
}

test('an answer without a word is none', async (t) => {
  const { model, server } = await modelOn(t, { text: '' });
  t.like((await failureOf(model.stream(ask('Tell'), patiently))).error, { kind: 'failed', retryable: true });
  t.like(await t.throwsAsync(model.generate(ask('Tell'), patiently)), { kind: 'failed', retryable: true });

  server.answerWith({ body: '' });
  t.like((await failureOf(model.stream(ask('Tell'), patiently))).error, { kind: 'failed', beforeFirstChunk: true });
  server.answerWith({ status: 204, body: '' });
  t.like((await failureOf(model.stream(ask('Tell'), patiently))).error, { kind: 'failed', beforeFirstChunk: true });
});

test('a page instead of an answer fails', async (t) => {
  const { model } = await modelOn(t, { body: '<html>Welcome</html>' });

  t.like((await failureOf(model.stream(ask('Tell'), patiently))).error, { kind: 'failed' });
  t.like(await t.throwsAsync(model.generate(ask('Tell'), patiently)), { kind: 'failed' });
});

test('an endless answer is cut by its size', async (t) => {
  const { model } = await modelOn(t, { text: 'word '.repeat(20_000) }, { maxAnswerBytes: 100_000 });
  const { text, error } = await failureOf(model.stream(ask('Tell'), patiently));

  t.true(text.length < 100_000);
  t.like(error, { kind: 'failed', retryable: false });
  t.like(await t.throwsAsync(model.generate(ask('Tell'), patiently)), { kind: 'failed' });
});

test('calls that wait for a connection are bounded by their own deadline', async (t) => {
  const script = { beforeHeaders: createGate() };
  const { model, server } = await modelOn(t, script, { connections: 1, firstTokenTimeoutMs: 2_000 });
  const calls = await Promise.all(Array.from({ length: 3 }, () => failureOf(model.stream(ask('Tell'), patiently))));

  t.deepEqual(
    calls.map(({ error }) => error.kind),
    ['timedOut', 'timedOut', 'timedOut'],
  );
  server.answerWith({ text: 'Back again' });
  t.is(textOf(await eventsOf(model.stream(ask('Tell'), patiently))), 'Back again');
});

test('neither the error nor the log shows the request, the key or a quoted refusal', async (t) => {
  const quoted = JSON.stringify({
    error: { message: 'Invalid: my prompt, key canary-key', type: 'invalid', code: 'too_long' },
  });
  const { model, server, logged } = await modelOn(t, { status: 400, body: quoted }, { key: 'canary-key' });
  const refused = (await failureOf(model.stream(ask('my prompt'), patiently))).error;
  server.answerWith({ body: 'data: {"choices": "my prompt"}\n\n' });
  const malformed = (await failureOf(model.stream(ask('my prompt'), patiently))).error;

  t.is(refused.message, 'The model provider did not take the request');
  const shown = [refused, malformed].map((error) =>
    JSON.stringify({ ...error, message: error.message, stack: error.stack }),
  );
  for (const text of [...shown, JSON.stringify(logged)]) t.notRegex(text, /my prompt|canary/u);
  for (const text of shown) t.notRegex(text, /127\.0\.0\.1/u);
  t.regex(String(logged[0]?.fault), /127\.0\.0\.1:\d+: HTTP 400 invalid too_long$/u);
});

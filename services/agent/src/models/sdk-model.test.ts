import { mock } from 'node:test';
import type { LanguageModelV3, LanguageModelV3StreamPart, LanguageModelV3ToolCall } from '@ai-sdk/provider';
import test from 'ava';
import { type SdkModelSettings, sdkModel } from './sdk-model.ts';
import { ask, eventsOf, failureOf, textOf, uncancelled } from './testing/model-on-server.ts';

const finish: LanguageModelV3StreamPart = {
  type: 'finish',
  finishReason: { unified: 'stop', raw: 'stop' },
  usage: {
    inputTokens: { total: 9, noCache: 9, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 7, text: 7, reasoning: 0 },
  },
};
const thought = (delta: string): LanguageModelV3StreamPart => ({ type: 'reasoning-delta', id: 't', delta });
const said = (delta: string): LanguageModelV3StreamPart => ({ type: 'text-delta', id: 's', delta });

/** Creates a model whose SDK yields these parts one by one as they are read. Also reports whether the SDK's call was cancelled. */
function modelOf(parts: AsyncIterable<LanguageModelV3StreamPart>, settings: Partial<SdkModelSettings> = {}) {
  let cancelled = false;
  const languageModel: Pick<LanguageModelV3, 'doStream'> = {
    async doStream({ abortSignal }) {
      const source = parts[Symbol.asyncIterator]();
      const stream = new ReadableStream<LanguageModelV3StreamPart>(
        {
          start(controller) {
            abortSignal?.addEventListener('abort', () => {
              cancelled = true;
              controller.error(abortSignal.reason);
            });
          },
          async pull(controller) {
            const { done, value } = await source.next();
            if (abortSignal?.aborted) return;
            if (done) controller.close();
            else controller.enqueue(value);
          },
        },
        { highWaterMark: 0 },
      );
      return { stream };
    },
  };
  const model = sdkModel(
    {
      api: 'openai-compatible',
      providerId: 'P',
      modelId: 'm',
      vision: false,
      contextTokens: 8_192,
      maxOutputTokens: 1_024,
      firstTokenTimeoutMs: 10_000,
      idleTimeoutMs: 10_000,
      callTimeoutMs: 10_000,
      origin: 'http://127.0.0.1:9',
      secrets: [],
      rawEvents: false,
      isTaken: () => true,
      ...settings,
    },
    async () => languageModel as LanguageModelV3,
    { warn: () => undefined },
  );
  return { model, cancelled: () => cancelled };
}

/** Yields each part `ms` milliseconds after the previous one, by the test's clock. */
async function* every(ms: number, parts: LanguageModelV3StreamPart[]) {
  for (const part of parts) {
    mock.timers.tick(ms);
    yield part;
  }
}

test.serial('each thought of a model counts as progress, like text', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const limits = { firstTokenTimeoutMs: 300, idleTimeoutMs: 300 };
  const thoughts = Array.from({ length: 5 }, () => thought('hm '));

  const { model } = modelOf(every(200, [...thoughts, said('Yes.'), ...thoughts, finish]), limits);
  t.is(textOf(await eventsOf(model.stream(ask('Well?'), uncancelled))), 'Yes.');

  const silent = modelOf(every(301, [thought('hm'), said('Too late.'), finish]), {
    ...limits,
    firstTokenTimeoutMs: 302,
  });
  const { text, error } = await failureOf(silent.model.stream(ask('Well?'), uncancelled));
  t.is(text, '');
  t.like(error, { kind: 'timedOut', beforeFirstChunk: true });
});

test.serial('a reply far above its maximum of tokens is cut, and its call is cancelled', async (t) => {
  const piece = 'ten chars ';
  let sent = 0;
  async function* onAndOn() {
    for (; sent < 100; sent += 1) yield said(piece);
    yield finish;
  }
  for (const [asked, settings] of [
    [{ maxOutputTokens: 2 }, {}],
    [{}, { maxOutputTokens: 2 }],
    [{ maxOutputTokens: 2_000 }, { maxOutputTokens: 2 }],
  ] as const) {
    sent = 0;
    const { model, cancelled } = modelOf(onAndOn(), settings);
    const events = await eventsOf(model.stream(ask('Tell', asked), uncancelled));

    t.is(textOf(events), piece.repeat(4).slice(0, 32), '16 characters for each token');
    t.like(events.at(-1), { type: 'finish', finishReason: 'length', tokensOut: 2, estimated: true });
    t.true(cancelled());
    t.is(sent, 3, 'no more is read');
  }
});

test.serial('endless thoughts are cut like an answer', async (t) => {
  let sent = 0;
  async function* onAndOn() {
    for (; sent < 100; sent += 1) yield thought('ten chars ');
    yield finish;
  }
  const { model, cancelled } = modelOf(onAndOn(), { maxOutputTokens: 2 });
  const thoughts: string[] = [];
  const call = { ...uncancelled, onThought: (text: string) => thoughts.push(text) };
  const { error } = await failureOf(model.stream(ask('Tell'), call));

  t.like(error, { kind: 'limitReached', retryable: false, usage: { tokensOut: 2, estimated: true } });
  t.is(thoughts.length, 4);
  t.true(cancelled());
});

test.serial('one piece that is far longer than the maximum is cut, and charged as the maximum', async (t) => {
  async function* atOnce() {
    yield said('🙂'.repeat(10_000));
    yield finish;
  }
  const { model } = modelOf(atOnce(), { maxOutputTokens: 2 });
  const events = await eventsOf(model.stream(ask('Tell'), uncancelled));
  t.is(textOf(events), '🙂'.repeat(16));
  t.like(events.at(-1), { type: 'finish', finishReason: 'length', tokensOut: 2, estimated: true });
});

test.serial('endless spaces are cut like an answer, however they are split', async (t) => {
  let sent = 0;
  async function* onAndOn() {
    for (; sent < 10_000; sent += 1) yield said(' ');
    yield finish;
  }
  const { model, cancelled } = modelOf(onAndOn(), { maxOutputTokens: 64 });
  const { error } = await failureOf(model.stream(ask('Tell'), uncancelled));
  t.like(error, { kind: 'limitReached' });
  t.is(sent, 16 * 64);
  t.true(cancelled());
});

const toolDelta = (delta: string): LanguageModelV3StreamPart => ({ type: 'tool-input-delta', id: 'c', delta });
const toolCall: LanguageModelV3ToolCall = { type: 'tool-call', toolCallId: 'c', toolName: 'look_up', input: '{}' };
const tools = [{ name: 'look_up', inputSchema: {} }];

test.serial('each piece of a tool call counts as progress', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const limits = { firstTokenTimeoutMs: 300, idleTimeoutMs: 300 };
  const deltas = Array.from({ length: 5 }, () => toolDelta(' '));

  const { model } = modelOf(every(200, [...deltas, toolCall, finish]), limits);
  const events = await eventsOf(model.stream(ask('Well?', { tools }), uncancelled));
  t.deepEqual(
    events.map(({ type }) => type),
    ['toolCall', 'finish'],
  );
  t.like(events.at(-1), { finishReason: 'toolCalls' });
});

test.serial('endless arguments are cut like an answer', async (t) => {
  let sent = 0;
  async function* onAndOn() {
    for (; sent < 100; sent += 1) yield toolDelta('ten chars ');
    yield finish;
  }
  const { model, cancelled } = modelOf(onAndOn(), { maxOutputTokens: 2 });
  let written = '';
  const call = { ...uncancelled, onThought: (text: string) => void (written += text) };
  const { error } = await failureOf(model.stream(ask('Tell', { tools }), call));

  t.like(error, { kind: 'limitReached', retryable: false, usage: { tokensOut: 2, estimated: true } });
  t.is(written.length, 32);
  t.true(cancelled());
});

test.serial(
  'arguments of any JSON shape are returned; invalid JSON or too deep nesting is reported as such',
  async (t) => {
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    const inputs = ['', ' ', '{"a":1}', '[1]', '"a"', 'null', '{', '{"a":1}}', deep];
    for (const [at, given] of [{}, {}, { a: 1 }, [1], 'a', null, undefined, undefined, undefined].entries()) {
      const input = inputs[at] ?? '';
      async function* once(): AsyncGenerator<LanguageModelV3StreamPart> {
        yield { ...toolCall, input };
        yield finish;
      }
      const [event] = await eventsOf(
        modelOf(once(), { maxOutputTokens: 9_000 }).model.stream(ask('Go', { tools }), uncancelled),
      );
      t.like(event, { type: 'toolCall', arguments: given, argumentsText: input });
    }
  },
);

test.serial(
  'duplicate call ids are replaced, and a response with only calls of unknown tools has no answer',
  async (t) => {
    async function* twice() {
      yield toolCall;
      yield toolCall;
      yield finish;
    }
    const events = await eventsOf(modelOf(twice()).model.stream(ask('Go', { tools }), uncancelled));
    t.deepEqual(
      events.map((event) => event.type === 'toolCall' && event.callId),
      ['c', 'c-2', false],
    );

    const { error } = await failureOf(modelOf(twice()).model.stream(ask('Go'), uncancelled));
    t.like(error, { kind: 'failed', retryable: false, usage: { tokensOut: 7 } });
  },
);

test.serial('a call that Google reports as malformed is retryable', async (t) => {
  async function* malformed() {
    yield { ...finish, finishReason: { unified: 'error' as const, raw: 'MALFORMED_FUNCTION_CALL' } };
  }
  const { error } = await failureOf(modelOf(malformed()).model.stream(ask('Go', { tools }), uncancelled));
  t.like(error, { kind: 'failed', retryable: true, usage: { tokensOut: 7 } });
});

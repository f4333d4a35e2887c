import type { ModelAnswer } from '@parley/testing/model-answer';
import test from 'ava';
import type { FinishReason } from './model.ts';
import type { ModelErrorKind } from './model-error.ts';
import type { ApiName } from './testing/apis.ts';
import { answerOf, ask, failureOf, modelOn, uncancelled } from './testing/model-on-server.ts';
import { type RecordedName, recordedAnswer } from './testing/recorded-answers.ts';

/** How an answer ends: with a finish reason, or as an error. `text`: what was received before. */
interface End {
  text?: string;
  finishReason?: FinishReason;
  kind?: ModelErrorKind;
  retryable?: boolean;
  usage?: { tokensIn?: number; tokensOut?: number; estimated?: boolean };
}

const half = 'This is cut in the mid';
const openai: readonly ApiName[] = ['openai', 'openai-compatible'];

const recorded: [RecordedName, readonly ApiName[], End][] = [
  ['anthropic-max-tokens', ['anthropic'], { text: half, finishReason: 'length' }],
  ['anthropic-refusal', ['anthropic'], { kind: 'declined', usage: { tokensIn: 25, tokensOut: 1, estimated: false } }],
  [
    'anthropic-unknown-event',
    ['anthropic'],
    { text: 'Visible answer.', finishReason: 'stop', usage: { tokensOut: 8 } },
  ],
  [
    'anthropic-unknown-delta',
    ['anthropic'],
    { text: 'Visible answer.', finishReason: 'stop', usage: { tokensOut: 8 } },
  ],
  ['google-blocked-prompt', ['google'], { kind: 'declined', usage: { tokensIn: 12, tokensOut: 0 } }],
  ['google-safety', ['google'], { kind: 'declined' }],
  ['google-recitation', ['google'], { text: 'It was the best ', finishReason: 'contentFilter' }],
  ['google-max-tokens-no-text', ['google'], { kind: 'limitReached', usage: { tokensIn: 40, tokensOut: 4_096 } }],
  ['google-malformed-after-words', ['google'], { text: 'The answer is ', kind: 'failed', retryable: false }],
  ['openai-content-filter', openai, { text: 'I can say that much', finishReason: 'contentFilter' }],
  ['openai-content-filter-no-words', openai, { kind: 'declined' }],
  ['openai-length-with-text', openai, { text: half, finishReason: 'length' }],
  ['openai-length-no-content', openai, { kind: 'limitReached', usage: { tokensOut: 4, estimated: true } }],
  ['openai-error-before-words', openai, { kind: 'failed', retryable: true, usage: { tokensIn: 0, tokensOut: 0 } }],
  ['openai-error-after-words', openai, { text: 'The answer is ', kind: 'failed', retryable: false }],
  ['openai-event-after-done', openai, { text: 'Good morning.', finishReason: 'stop' }],
  ['openai-thinks-aloud', openai, { text: 'Forty-two.', finishReason: 'stop' }],
  ['openai-slow-thoughts', openai, { text: 'At last.', finishReason: 'stop' }],
];

for (const [name, apis, end] of recorded) {
  for (const api of apis) {
    test(`${api}: the end of a recorded answer is recognized: ${name}`, async (t) => {
      await checkEnd(t, await modelOn(t, recordedAnswer(name), { api, key: 'k' }), end);
    });
  }
}

async function checkEnd(
  t: Parameters<typeof modelOn>[0],
  { model }: Awaited<ReturnType<typeof modelOn>>,
  { text = '', finishReason, kind, retryable = false, usage }: End,
): Promise<void> {
  if (kind === undefined) {
    t.like(await answerOf(model, ask('Tell')), { text, finishReason, ...usage });
    return;
  }
  const failure = await failureOf(model.stream(ask('Tell'), uncancelled));
  t.is(failure.text, text);
  t.like(failure.error, { kind, retryable, beforeFirstChunk: text === '', ...(usage && { usage }) });
}

for (const api of openai) {
  test(`${api}: a request refused for stream_options is repeated without, and later requests omit it at once`, async (t) => {
    const refusing = { ...recordedAnswer('openai-refuses-stream-options'), refuses: 'stream_options' };
    const { model, server, logged } = await modelOn(t, refusing, { api, key: 'k' });
    t.like(await answerOf(model, ask('Tell')), { text: 'It works.', finishReason: 'stop', estimated: true });
    t.deepEqual(logged, [{ providerId: 'HOSTED_SMALL_MODEL', modelId: 'm', parameter: 'stream_options' }]);
    t.is(server.counts.started, 2);

    t.like(await answerOf(model, ask('Tell')), { text: 'It works.' });
    t.is(server.counts.started, 3);
    t.is(logged.length, 1);
  });

  test(`${api}: the maximum of tokens is sent under the name that the server accepts`, async (t) => {
    const { model, server } = await modelOn(t, { text: 'Fine.', refuses: 'max_tokens' }, { api, key: 'k' });
    t.like(await answerOf(model, ask('Tell')), { text: 'Fine.' });
    t.regex(server.requests[1]?.text ?? '', /"max_completion_tokens":4096/u);
  });

  test(`${api}: any other refused parameter is logged once`, async (t) => {
    const refusing = {
      status: 400,
      body: JSON.stringify({ detail: [{ loc: ['body', 'top_k'], msg: 'extra fields' }] }),
    };
    const { model, server, logged } = await modelOn(t, refusing, { api, key: 'k' });
    t.like((await failureOf(model.stream(ask('Tell'), uncancelled))).error, { kind: 'badRequest' });
    t.regex(String(logged[0]?.['fault']), /parameter top_k/u);
    t.is(server.counts.started, 1);
  });

  test(`${api}: a refusal that quotes the name of a parameter is no refusal of it for others`, async (t) => {
    const body = JSON.stringify({ error: { message: 'Bad content: stream_options' } });
    const { model, server } = await modelOn(t, { status: 400, body }, { api, key: 'k' });
    await failureOf(model.stream(ask('Tell'), uncancelled));
    server.answerWith({ text: 'Fine.' });
    t.like(await answerOf(model, ask('Tell')), { text: 'Fine.', estimated: false });
  });
}

for (const api of ['openai', 'openai-compatible', 'anthropic', 'google'] as const) {
  const name = ({ anthropic: 'anthropic-unknown-event', google: 'google-recitation' } as const)[api as 'anthropic'];
  test(`${api}: a compressed answer is unpacked`, async (t) => {
    const answer = { ...recordedAnswer(name ?? 'openai-length-with-text'), gzip: true };
    const { model } = await modelOn(t, answer, { api, key: 'k' });
    t.regex(
      (await answerOf(model, ask('Tell'))).text,
      /^(?:Visible answer\.|It was the best |This is cut in the mid)$/u,
    );
  });
}

test('a compressed answer that unpacks to too much is cut', async (t) => {
  const packetsSent = Array.from({ length: 2_000 }, () => said('x'.repeat(1_000)));
  const { model } = await modelOn(
    t,
    { packetsSent, gzip: true },
    { maxAnswerBytes: 100_000, maxOutputTokens: 1_000_000 },
  );
  const { error } = await failureOf(model.stream(ask('Tell'), uncancelled));
  t.like(error, { kind: 'failed' });
});

const chunk = (choice: object, more: object = {}) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, finish_reason: null, ...choice }], ...more })}\n\n`;
const said = (content: unknown) => chunk({ delta: { content } });
const stop = chunk({ delta: {}, finish_reason: 'stop' });
const done = 'data: [DONE]\n\n';
const sent = (...packetsSent: string[]): ModelAnswer => ({ packetsSent });

/** Chunks that servers of OpenAI's format send, although the types of no SDK contain them. */
const chunks: Record<string, [ModelAnswer, End]> = {
  'an end reason that is empty or "null" in each chunk, and then the connection ends': [
    sent(
      chunk({ delta: { content: 'This is ' }, finish_reason: '' }),
      chunk({ delta: { content: 'cut' }, finish_reason: 'null' }),
    ),
    { text: 'This is cut', kind: 'failed' },
  ],
  'one message instead of a stream': [
    sent(chunk({ message: { role: 'assistant', content: 'All at once.' }, finish_reason: 'stop' })),
    { text: 'All at once.', finishReason: 'stop' },
  ],
  'an end mark with a space after it': [
    sent(said('Good.'), stop, 'data: [DONE] \n\n'),
    { text: 'Good.', finishReason: 'stop' },
  ],
  'an error object without fields beside a choice': [
    sent(chunk({ delta: { content: 'Good.' } }, { error: {} }), stop, done),
    { text: 'Good.', finishReason: 'stop' },
  ],
  'a status that is a text': [
    sent('data: {"error": {"code": "429", "message": "Slow down"}}\n\n'),
    { kind: 'rateLimited', retryable: true },
  ],
  'a code that is the name of an inherited property': [
    sent('data: {"error": {"code": "__proto__", "message": "no"}}\n\n'),
    { kind: 'failed', retryable: true },
  ],
  'counts of tokens that are no numbers': [
    sent(
      said('Good.'),
      stop,
      `data: {"choices": [], "usage": {"prompt_tokens": "9", "completion_tokens": {"a": 1}}}\n\n`,
      done,
    ),
    { text: 'Good.', finishReason: 'stop', usage: { estimated: true } },
  ],
  'an error in a choice': [
    sent(chunk({ delta: {}, finish_reason: 'error', error: { code: 429, message: 'Slow down' } })),
    { kind: 'rateLimited', retryable: true },
  ],
  'an error that is a text': [sent('data: {"error": "overloaded"}\n\n'), { kind: 'failed', retryable: true }],
  'an error with a code of its own': [
    sent('data: {"object": "error", "message": "gone", "type": "ServerError", "code": 500}\n\n'),
    { kind: 'failed', retryable: true },
  ],
  'an error that is no stream': [
    { packetsSent: ['{"error": {"code": 503, "message": "No instances"}}'] },
    { kind: 'failed', retryable: true, usage: { tokensIn: 0 } },
  ],
  'an end of its own failure': [
    sent(chunk({ delta: {}, finish_reason: 'error' })),
    { kind: 'failed', retryable: true, usage: { tokensIn: 0 } },
  ],
  'no error': [
    sent(chunk({ delta: { content: 'Fine.' } }, { error: null }), stop),
    { text: 'Fine.', finishReason: 'stop' },
  ],
  'events of other kinds': [
    sent('data: {"type": "ping"}\n\n', 'data: null\n\n', 'data: 7\n\n', ': keep-alive\n\n', said('Fine.'), stop, done),
    { text: 'Fine.', finishReason: 'stop' },
  ],
  'deltas with unknown fields': [
    sent(
      chunk({ delta: { role: 'model', content: 'Fine.', annotations: [{ type: 'new' }], tool_calls: [null] } }),
      stop,
    ),
    { text: 'Fine.', finishReason: 'stop' },
  ],
  'a text in parts': [
    sent(
      said([{ type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }]),
      said([{ type: 'text', text: 'Fine.' }, { type: 'new' }]),
      stop,
    ),
    { text: 'Fine.', finishReason: 'stop', usage: { tokensOut: 2 } },
  ],
  'a refusal': [
    sent(chunk({ delta: { refusal: 'I cannot help with that.' } }), stop, done),
    { text: 'I cannot help with that.', finishReason: 'contentFilter' },
  ],
  'an event after the end, and a socket that stays open': [
    { packetsSent: [said('Fine.'), stop, done, 'data:\n\n', said(' More.')], ending: 'never' },
    { text: 'Fine.', finishReason: 'stop' },
  ],
  'no blank line after the last event': [sent(said('Fine.'), stop.trimEnd()), { text: 'Fine.', finishReason: 'stop' }],
  'lines that end with carriage returns': [
    sent(said('Fine.').replaceAll('\n', '\r\n'), stop.replaceAll('\n', '\r\n')),
    { text: 'Fine.', finishReason: 'stop' },
  ],
  'a maximum by another name': [
    sent(said('Half'), chunk({ delta: {}, finish_reason: 'MAX_TOKENS' })),
    { text: 'Half', finishReason: 'length' },
  ],
  'a filter by another name': [sent(chunk({ delta: {}, finish_reason: 'sensitive' })), { kind: 'declined' }],
  'figures that are no numbers': [
    sent(said('Fine.'), stop, `data: {"choices": [], "usage": {"prompt_tokens": "9", "completion_tokens": 3.5}}\n\n`),
    { text: 'Fine.', finishReason: 'stop', usage: { estimated: true } },
  ],
  'thoughts alone, in a block that has no end': [sent(said('<think>hm'), stop), { kind: 'failed' }],
  'two blocks of thoughts': [
    sent(said(' \n<think>hm</think>\n<thinking>'), said('well</thinking> '), said('\nFine.'), stop),
    { text: 'Fine.', finishReason: 'stop' },
  ],
  'a tag that is no thought': [
    sent(said('<thin'), said('g> is a word. <think>no</think>'), stop),
    { text: '<thing> is a word. <think>no</think>', finishReason: 'stop' },
  ],
  'spaces alone': [sent(said(' \n'), stop), { kind: 'failed' }],
};

for (const api of openai) {
  for (const [name, [answer, end]] of Object.entries(chunks)) {
    test(`${api}: ${name}`, async (t) => checkEnd(t, await modelOn(t, answer, { api, key: 'k' }), end));
  }

  for (const delta of [
    { reasoning_content: 'hm ' },
    { reasoning: 'hm ' },
    { reasoning_details: [{ type: 'reasoning.text', text: 'hm ' }] },
    { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'hm ' }] }] },
    { content: '<think>hm ' },
  ]) {
    test.serial(`${api}: a thought is the first token: ${JSON.stringify(delta)}`, async (t) => {
      const options = { api, key: 'k', firstTokenTimeoutMs: 60_000, idleTimeoutMs: 300 };
      const { model, server } = await modelOn(t, { packetsSent: [chunk({ delta })], ending: 'never' }, options);
      let thought = '';
      const onThought = (text: string) => void (thought += text);
      const { error } = await failureOf(model.stream(ask('Tell'), { ...uncancelled, onThought }));

      t.regex(thought, /^hm/u);
      t.like(error, { kind: 'timedOut', retryable: true });
      t.is(error.usage.tokensOut, 1, 'the thought is metered');
      await server.until(({ counts }) => counts.cancelled === 1);
    });
  }
}

for (const api of openai) {
  test(`${api}: endless thoughts end the call, and cost no more than was reserved`, async (t) => {
    const packetsSent = Array.from({ length: 200 }, () => chunk({ delta: { reasoning_content: 'hm '.repeat(50) } }));
    const { model } = await modelOn(t, { packetsSent }, { api, key: 'k', maxOutputTokens: 100 });
    const { error } = await failureOf(model.stream(ask('Tell'), uncancelled));
    t.like(error, { kind: 'limitReached', usage: { tokensOut: 100, estimated: true } });
  });
}

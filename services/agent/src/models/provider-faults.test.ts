import { createGate } from '@parley/testing/gate';
import type { ModelAnswer } from '@parley/testing/model-answer';
import { startModelServer } from '@parley/testing/model-server';
import { startSilentServer } from '@parley/testing/silent-server';
import test, { type ExecutionContext } from 'ava';
import type { ModelEvent, TokenUsage } from './model.ts';
import { ModelError, type ModelErrorKind } from './model-error.ts';
import { type ApiName, apis } from './testing/apis.ts';
import { ask, type ModelOptions, modelOn, textOf, uncancelled } from './testing/model-on-server.ts';

/** The outcome for the caller: the error, or the end of the response. */
interface Seen {
  kind?: ModelErrorKind;
  retryable?: boolean;
  retryAfterMs?: number;
  /** Text received before the outcome. Default: none. */
  text?: string | RegExp;
  usage?: { tokensIn: number; tokensOut: number; estimated: boolean };
}

interface Fault {
  answer: ModelAnswer | ((api: ApiName) => ModelAnswer);
  options?: ModelOptions;
  seen: Seen;
  /** Whether the client has to cancel its request. */
  cancels?: boolean;
}

/** The estimate for the request `Count` and the answer `One two`. */
const estimated = { tokensIn: 5, tokensOut: 2, estimated: true };
const nothing = { tokensIn: 0, tokensOut: 0, estimated: false };
const passing = (kind: ModelErrorKind): Seen => ({ kind, retryable: true, usage: nothing });
/** A timeout after the provider has received the request, so that the provider may charge for the request. */
const late: Seen = { kind: 'timedOut', retryable: true, usage: { ...estimated, tokensOut: 0 } };
const lasting = (kind: ModelErrorKind): Seen => ({ kind, retryable: false, usage: nothing });
/** Returns the outcome of a stream that failed after its first words, which were shown. */
const afterText = (kind: ModelErrorKind): Seen => ({ kind, retryable: false, text: 'One two', usage: estimated });
const text = 'One two';

/** Returns an error within a 200 response, under the name that the vendor of the tested format uses for it. */
const named = (openai: string, anthropic: string, google: string, bedrock: string) => (api: ApiName) => {
  const error = { openai, 'openai-compatible': openai, anthropic, google, bedrock }[api];
  return { text: '', ending: 'error-event' as const, error };
};

const faults: Record<string, Fault> = {
  'a 400': { answer: { status: 400 }, seen: lasting('badRequest') },
  'a 401': { answer: { status: 401 }, seen: lasting('refused') },
  'a 404': { answer: { status: 404 }, seen: lasting('unknownModel') },
  'a 408': { answer: { status: 408 }, seen: passing('timedOut') },
  'a 429 with Retry-After': {
    answer: { status: 429, headers: { 'retry-after': '2' } },
    seen: { ...passing('rateLimited'), retryAfterMs: 2_000 },
  },
  'a 500': { answer: { status: 500 }, seen: passing('failed') },
  'a 529': { answer: { status: 529 }, seen: passing('failed') },
  'a page instead of an answer': { answer: { body: '<html>Welcome</html>' }, seen: passing('failed') },
  'no answer': {
    answer: () => ({ beforeHeaders: createGate() }),
    options: { firstTokenTimeoutMs: 400 },
    seen: late,
    cancels: true,
  },
  'no first token': {
    answer: () => ({ beforeDelta: createGate() }),
    options: { firstTokenTimeoutMs: 400 },
    seen: late,
    cancels: true,
  },
  'no first token for longer than between tokens': {
    answer: () => ({ beforeDelta: createGate() }),
    options: { firstTokenTimeoutMs: 1_500, idleTimeoutMs: 100 },
    seen: late,
    cancels: true,
  },
  'a refusal that never ends': {
    answer: { status: 500, body: '{"error": ', headers: { 'content-length': '1000' } },
    options: { firstTokenTimeoutMs: 400 },
    seen: passing('timedOut'),
  },
  'a stall': {
    answer: { text, ending: 'never' },
    options: { idleTimeoutMs: 400 },
    seen: afterText('timedOut'),
    cancels: true,
  },
  'a cut in mid-stream': {
    answer: { text, ending: 'cut' },
    seen: afterText('failed'),
  },
  'an answer without its end': {
    answer: { text, ending: 'unfinished' },
    seen: afterText('failed'),
  },
  'malformed JSON': { answer: { text, ending: 'malformed' }, seen: afterText('failed') },
  'an error after the first words': {
    answer: { text, ending: 'error-event' },
    seen: afterText('failed'),
  },
  'an overload within a 200': {
    answer: named('server_error', 'overloaded_error', 'UNAVAILABLE', 'serviceUnavailableException'),
    seen: passing('failed'),
  },
  'a rate limit within a 200': {
    answer: named('rate_limit_exceeded', 'rate_limit_error', 'RESOURCE_EXHAUSTED', 'throttlingException'),
    seen: passing('rateLimited'),
  },
  'a refusal within a 200': {
    answer: named('invalid_request_error', 'invalid_request_error', 'INVALID_ARGUMENT', 'validationException'),
    seen: lasting('badRequest'),
  },
  'refused credentials within a 200': {
    answer: named('invalid_api_key', 'authentication_error', 'PERMISSION_DENIED', 'accessDeniedException'),
    seen: lasting('refused'),
  },
  'an empty answer': {
    answer: { text: '' },
    seen: { kind: 'failed', retryable: false, usage: { tokensIn: 4, tokensOut: 0, estimated: false } },
  },
  'an empty answer after hidden thoughts': {
    answer: { text: '', usage: { prompt_tokens: 9, completion_tokens: 700, cached_tokens: 2 } },
    seen: { kind: 'failed', retryable: false, usage: { tokensIn: 9, tokensOut: 700, estimated: false } },
  },
  'an empty answer without figures': {
    answer: { text: '', usage: null },
    seen: { kind: 'failed', retryable: false, usage: { tokensIn: 5, tokensOut: 0, estimated: true } },
  },
  'hidden thoughts that use up the maximum of tokens': {
    answer: { text: '', ending: 'length', usage: { prompt_tokens: 9, completion_tokens: 4_096 } },
    seen: { ...lasting('limitReached'), usage: { tokensIn: 9, tokensOut: 4_096, estimated: false } },
  },
  'an answer that the filter removed': {
    answer: { text: '', ending: 'content_filter', usage: { prompt_tokens: 9, completion_tokens: 31 } },
    seen: { ...lasting('declined'), usage: { tokensIn: 9, tokensOut: 31, estimated: false } },
  },
  'an answer cut before its first word, without figures': {
    answer: { text: '', ending: 'length', usage: null },
    seen: { ...lasting('limitReached'), usage: { tokensIn: 5, tokensOut: 0, estimated: true } },
  },
  'an endless answer': {
    answer: { text: 'word '.repeat(1_000), ending: 'endless' },
    options: { maxAnswerBytes: 1_000_000 },
    seen: { kind: 'failed', retryable: false, text: /^(word )+/u },
    cancels: true,
  },
  'one byte at a time, too slowly': {
    answer: { text, packets: 'byte', byteDelayMs: 5 },
    options: { firstTokenTimeoutMs: 15_000, idleTimeoutMs: 300 },
    seen: { kind: 'timedOut', retryable: false, text: /^One/u },
    cancels: true,
  },
  'characters split over packets': {
    answer: { text: 'Grüße 你好 👩‍👩‍👧', packets: 'split-utf8' },
    seen: { text: 'Grüße 你好 👩‍👩‍👧', usage: { tokensIn: 4, tokensOut: 3, estimated: false } },
  },
  'no usage figures': {
    answer: { text, usage: null },
    seen: { text, usage: estimated },
  },
};

/** Faults of models that think. OpenAI's own format is not tested with them, because it shows no thoughts. */
const faultsOfThinking: Record<string, Fault> = {
  'a stall while it thinks': {
    answer: { thoughts: ['Which ones ', 'does he mean?'], text: [], ending: 'never' },
    options: { firstTokenTimeoutMs: 10_000, idleTimeoutMs: 400 },
    seen: { ...late, usage: { ...estimated, tokensOut: 6 } },
    cancels: true,
  },
  'thoughts before an answer without figures': {
    answer: { thoughts: ['Which ones?'], text, usage: null },
    seen: { text, usage: { ...estimated, tokensOut: 5 } },
  },
};

for (const api of apis) {
  const all = { ...faults, ...(api !== 'openai' && faultsOfThinking) };
  for (const [name, { answer, options, seen, cancels }] of Object.entries(all)) {
    const script = typeof answer === 'function' ? () => answer(api) : answer;

    // Cases with timeouts run serially, so that no other call delays them.
    const run = options ? test.serial : test;
    run(`${api}: ${name}`, async (t) => {
      const { model, server } = await modelOn(t, script, { api, key: 'canary:key', ...options });
      check(t, await readAll(model.stream(ask('Count'), uncancelled)), seen);
      t.is(server.counts.started, 1, 'no retry by the SDK');
      if (cancels) await server.until(({ counts }) => counts.cancelled === 1);
    });
  }

  test(`${api}: a refused connection`, async (t) => {
    const stopped = await startModelServer();
    await stopped.stop();
    const { model } = await modelOn(t, {}, { api, key: 'canary:key', url: stopped.urls[api] });

    check(t, await readAll(model.stream(ask('Count'), uncancelled)), passing('unreachable'));
  });

  test(`${api}: a connection that is never made`, async (t) => {
    const silent = await startSilentServer();
    t.teardown(() => silent.stop());
    const { model } = await modelOn(t, {}, { api, key: 'canary:key', url: silent.url, connectTimeoutMs: 300 });

    check(t, await readAll(model.stream(ask('Count'), uncancelled)), passing('unreachable'));
    t.true(silent.connections <= 1);
  });

  test(`${api}: a connection that is not made before the first token is due`, async (t) => {
    const silent = await startSilentServer();
    t.teardown(() => silent.stop());
    const { model } = await modelOn(t, {}, { api, key: 'canary:key', url: silent.url, firstTokenTimeoutMs: 300 });

    check(t, await readAll(model.stream(ask('Count'), uncancelled)), passing('timedOut'));
  });
}

interface Read {
  text: string;
  error?: unknown;
  usage?: TokenUsage;
}

/** Reads a stream to its end, which is either one `finish` or one error. */
async function readAll(stream: AsyncIterable<ModelEvent>): Promise<Read> {
  const events: ModelEvent[] = [];
  try {
    for await (const event of stream) events.push(event);
  } catch (error) {
    if (events.some(({ type }) => type === 'finish')) throw new Error('an error after the end', { cause: error });
    return { text: textOf(events), error };
  }
  const ends = events.filter((event) => event.type === 'finish');
  const [end] = ends;
  if (ends.length !== 1 || end !== events.at(-1) || !end) throw new Error(`ends: ${JSON.stringify(events)}`);
  return { text: textOf(events), usage: end };
}

function check(t: ExecutionContext, { text: read, error, usage }: Read, seen: Seen): void {
  const { kind, retryable, retryAfterMs, text: expected = '', usage: figures } = seen;
  if (expected instanceof RegExp) t.regex(read, expected);
  else if (kind !== undefined || 'text' in seen) t.is(read, expected);
  if (kind === undefined) {
    t.is(error, undefined);
    if (figures) t.like(usage, figures);
    return;
  }
  if (!(error instanceof ModelError)) throw new Error('no ModelError', { cause: error });
  t.is(error.kind, kind);
  if (retryable !== undefined) t.is(error.retryable, retryable);
  t.is(error.retryAfterMs, retryAfterMs);
  if (figures) t.like(error.usage, figures);
  const shown = JSON.stringify([{ ...error }, error.message, error.stack]);
  t.notRegex(shown, /canary|127\.0\.0\.1|scripted|Count/iu);
}

import test from 'ava';
import { type Breakers, createBreakers } from './breakers.ts';
import type { ModelEvent, ModelRequest } from './model.ts';
import { ModelError, type ModelErrorKind } from './model-error.ts';
import type { ChosenModel } from './models.ts';
import { type ChainEvent, providerChain } from './provider-chain.ts';

const usage = { tokensIn: 3, tokensCached: 0, tokensOut: 1, estimated: false };
const request: ModelRequest = { system: '', messages: [{ role: 'user', text: 'Hi' }] };

const failure = (kind: ModelErrorKind, transient: boolean, retryAfterMs?: number) =>
  new ModelError(kind, { beforeFirstChunk: true, transient, ...(retryAfterMs !== undefined && { retryAfterMs }) });

/** Creates a model that answers with its own name, after failing in the given ways. */
function model(modelId: string, failures: Error[] = [], afterFirst?: Error) {
  const calls: string[] = [];
  let held = 0;
  const made: ChosenModel = {
    providerId: `provider of ${modelId}`,
    modelId,
    offline: false,
    vision: false,
    contextTokens: 1_000,
    maxOutputTokens: 100,
    async acquireSlot() {
      held += 1;
      return { [Symbol.dispose]: () => void (held -= 1) };
    },
    async *stream(): AsyncGenerator<ModelEvent> {
      calls.push('stream');
      const error = failures.shift();
      if (error) throw error;
      yield { type: 'text', text: modelId };
      if (afterFirst) throw afterFirst;
      yield { type: 'finish', finishReason: 'stop', ...usage };
    },
  };
  return { model: made, calls, retries: 0, held: () => held };
}

type Candidates = [ReturnType<typeof model>, ...ReturnType<typeof model>[]];

const chainOf = (...candidates: Candidates) => chainOfBreakers(createBreakers({ failures: 1_000 }), ...candidates);

function chainOfBreakers(breakers: Breakers, ...candidates: Candidates) {
  const fallbacks: string[] = [];
  const called: string[] = [];
  const chain = providerChain(candidates, {
    breakers,
    log: { warn: () => undefined },
    metrics: {
      fellBack: (from, to) => void fallbacks.push(`${from.modelId} for ${to.modelId}`),
      called: (asked, seconds, error) => void called.push(`${asked.modelId} ${seconds >= 0} ${error}`),
      firstChunk: () => undefined,
      used: () => undefined,
    },
  });
  return { chain, fallbacks, called };
}

const call = (signal = new AbortController().signal, tenantId = 1) => ({
  tenantId,
  signal,
  acquireSlot: (asked: ChosenModel) => asked.acquireSlot(1, signal),
});

async function streamed(events: AsyncIterable<ChainEvent>): Promise<string[]> {
  const seen: string[] = [];
  for await (const event of events) {
    if (event.type === 'toolCall') seen.push(`${event.type} ${event.name}`);
    else seen.push(event.type === 'text' ? event.text : `${event.type} ${event.model.modelId}`);
  }
  return seen;
}

test('the usage of a failed attempt is reported before the next one, and that of the last attempt with its error', async (t) => {
  const thought = (kind: ModelErrorKind) => new ModelError(kind, { beforeFirstChunk: true, transient: true, usage });
  const again = { ...model('one', [thought('failed'), thought('failed')]), retries: 1 };
  t.deepEqual(await streamed(chainOf(again, model('two')).chain.stream(request, call())), [
    'asked one',
    'abandoned one',
    'asked one',
    'abandoned one',
    'asked two',
    'two',
    'finish two',
  ]);
  const last = thought('timedOut');
  const seen: string[] = [];
  const events = chainOf(model('one', [last])).chain.stream(request, call());
  const reading = (async () => {
    for await (const { type } of events) seen.push(type);
  })();
  t.is(await t.throwsAsync(reading), last);
  t.deepEqual(seen, ['asked']);
});

test('the first choice answers, and nobody else is asked', async (t) => {
  const [one, two] = [model('one'), model('two')];
  const { chain, fallbacks } = chainOf(one, two);
  t.deepEqual(await streamed(chain.stream(request, call())), ['asked one', 'one', 'finish one']);
  t.deepEqual([two.calls, fallbacks, one.held()], [[], [], 0]);
});

for (const kind of ['unreachable', 'timedOut', 'rateLimited', 'failed'] as const) {
  test(`falls back to the next model when one is ${kind} before its first output`, async (t) => {
    const [one, two, three] = [model('one', [failure(kind, true)]), model('two'), model('three')];
    const { chain, fallbacks, called } = chainOf(one, two, three);
    t.deepEqual(await streamed(chain.stream(request, call())), [
      'asked one',
      'abandoned one',
      'asked two',
      'two',
      'finish two',
    ]);
    t.deepEqual(called, [`one true ${kind}`, 'two true ']);
    t.deepEqual([three.calls, fallbacks], [[], ['one for two']]);
    t.deepEqual([one.held(), two.held()], [0, 0]);
  });
}

for (const kind of ['badRequest', 'tooLong', 'refused', 'unknownModel'] as const) {
  test(`does not fall back when a model is ${kind}`, async (t) => {
    const [one, two] = [model('one', [failure(kind, false)]), model('two')];
    await t.throwsAsync(streamed(chainOf(one, two).chain.stream(request, call())), { instanceOf: ModelError });
    t.deepEqual([two.calls, one.held()], [[], 0]);
  });
}

test('after the first output a failure ends the call', async (t) => {
  const broken = new ModelError('failed', { beforeFirstChunk: false, transient: true });
  const [one, two] = [model('one', [], broken), model('two')];
  const error = await t.throwsAsync(streamed(chainOf(one, two).chain.stream(request, call())));
  t.is(error, broken);
  t.deepEqual([two.calls, one.held()], [[], 0]);
});

test('fails with the last failure when every model has failed', async (t) => {
  const last = failure('rateLimited', true);
  const { chain } = chainOf(model('one', [failure('failed', true)]), model('two', [last]));
  t.is(await t.throwsAsync(streamed(chain.stream(request, call()))), last);
});

test('a model is asked again as often as it may be, but not after it was silent or has asked for a long pause', async (t) => {
  const again = { ...model('one', [failure('failed', true), failure('unreachable', true)]), retries: 2 };
  t.deepEqual(await streamed(chainOf(again, model('two')).chain.stream(request, call())), [
    'asked one',
    'abandoned one',
    'asked one',
    'abandoned one',
    'asked one',
    'one',
    'finish one',
  ]);
  for (const error of [failure('timedOut', true), failure('rateLimited', true, 60_000)]) {
    const silent = { ...model('one', [error]), retries: 2 };
    t.true((await streamed(chainOf(silent, model('two')).chain.stream(request, call()))).includes('two'));
  }
});

test('a model that is kept out is not asked, and when all are the call fails at once', async (t) => {
  const [one, two] = [model('one', [failure('rateLimited', true, 60_000)]), model('two')];
  const { chain } = chainOf(one, two);
  await streamed(chain.stream(request, call()));
  t.deepEqual(await streamed(chain.stream(request, call())), ['asked two', 'two', 'finish two']);
  t.is(one.calls.length, 1);
  const alone = model('alone', [failure('rateLimited', true, 60_000)]);
  const only = chainOf(alone);
  await t.throwsAsync(streamed(only.chain.stream(request, call())));
  const why = { kind: 'rateLimited', retryable: true, beforeFirstChunk: true } as const;
  t.like(await t.throwsAsync(streamed(only.chain.stream(request, call()))), why);
  t.deepEqual([alone.calls.length, alone.held()], [1, 0]);
});

test('a model that failed for one tenant is asked for another', async (t) => {
  const one = model('one', [failure('failed', true)]);
  const { chain } = chainOfBreakers(createBreakers({ failures: 1 }), one);
  for (let times = 0; times < 2; times += 1) {
    t.like(await t.throwsAsync(streamed(chain.stream(request, call(undefined, 1)))), { kind: 'failed' });
  }
  t.is(one.calls.length, 1, 'it is kept out now');
  t.deepEqual(await streamed(chain.stream(request, call(undefined, 2))), ['asked one', 'one', 'finish one']);
});

test('a breaker that opens while the call waits for a slot counts like one that was open before', async (t) => {
  const limited = model('limited', [failure('rateLimited', true)]);
  const { chain } = chainOfBreakers(createBreakers({ failures: 1 }), limited);
  const waits = {
    ...call(),
    async acquireSlot(asked: ChosenModel) {
      const slot = await asked.acquireSlot(1, new AbortController().signal);
      await t.throwsAsync(streamed(chain.stream(request, call())));
      return slot;
    },
  };
  const seen: string[] = [];
  const reading = async () => {
    for await (const { type } of chain.stream(request, waits)) seen.push(type);
  };
  t.like(await t.throwsAsync(reading()), { kind: 'rateLimited' });
  t.deepEqual([limited.calls.length, limited.held()], [1, 0]);
  t.is(seen.at(-1), 'abandoned', 'it has not been asked');
});

test('a caller that leaves while the call is admitted causes no model request', async (t) => {
  const one = model('one');
  const leaving = new AbortController();
  const beforeFirst = async () => leaving.abort(new DOMException('left', 'AbortError'));
  const seen: string[] = [];
  const reading = async () => {
    const events = chainOf(one).chain.stream(request, { ...call(leaving.signal), beforeFirst });
    for await (const { type } of events) seen.push(type);
  };
  await t.throwsAsync(reading(), { name: 'AbortError' });
  t.deepEqual([seen, one.calls, one.held()], [[], [], 0]);
});

test('beforeFirst runs once, and its error ends the call', async (t) => {
  let times = 0;
  const [one, two] = [model('one', [failure('failed', true)]), model('two')];
  const { chain } = chainOf(one, two);
  await streamed(chain.stream(request, { ...call(), beforeFirst: async () => void (times += 1) }));
  t.is(times, 1);
  const refused = new Error('refused');
  const beforeFirst = () => Promise.reject(refused);
  t.is(await t.throwsAsync(streamed(chain.stream(request, { ...call(), beforeFirst }))), refused);
  t.deepEqual([one.calls.length, one.held()], [1, 0]);
});

test('a cancelled or abandoned call asks no other model and releases its slot', async (t) => {
  const cancel = new AbortController();
  const one = model('one');
  one.model.stream = async function* () {
    cancel.abort(new DOMException('left', 'AbortError'));
    cancel.signal.throwIfAborted();
    yield* [];
  };
  const two = model('two');
  const { chain } = chainOf(one, two);
  await t.throwsAsync(streamed(chain.stream(request, call(cancel.signal))), { name: 'AbortError' });
  t.deepEqual([two.calls, one.held()], [[], 0]);
  for (const until of ['asked', 'text']) {
    const { chain: other } = chainOf(two);
    for await (const { type } of other.stream(request, call())) if (type === until) break;
    t.is(two.held(), 0);
  }
});

/** Records when each call of a model began, in ms. */
function timed(retries: number, failures: Error[]) {
  const made = { ...model('one', failures), retries };
  const { stream } = made.model;
  const begunMs: number[] = [];
  made.model.stream = (...given) => {
    begunMs.push(performance.now());
    return stream(...given);
  };
  return { made, gaps: () => begunMs.slice(1).map((ms, at) => ms - (begunMs[at] ?? 0)) };
}

for (const retryAfterMs of [0, 5, undefined]) {
  test(`a model is asked again no sooner than without Retry-After: ${retryAfterMs}`, async (t) => {
    const limited = failure('rateLimited', true, retryAfterMs);
    const { made, gaps } = timed(2, [limited, limited]);
    t.deepEqual((await streamed(chainOf(made).chain.stream(request, call()))).slice(-2), ['one', 'finish one']);
    const [first = 0, second = 0] = gaps();
    t.true(first >= 195 && second >= 395, String(gaps()));
  });
}

test('with no other model to ask, a longer Retry-After is waited for', async (t) => {
  const alone = timed(1, [failure('rateLimited', true, 2_100)]);
  t.deepEqual(await streamed(chainOf(alone.made).chain.stream(request, call())), [
    'asked one',
    'abandoned one',
    'asked one',
    'one',
    'finish one',
  ]);
  t.true((alone.gaps()[0] ?? 0) >= 2_095);

  const beside = timed(1, [failure('rateLimited', true, 2_100)]);
  const seen = await streamed(chainOf(beside.made, model('two')).chain.stream(request, call()));
  t.deepEqual(seen.slice(-2), ['two', 'finish two']);

  const forLong = timed(1, [failure('rateLimited', true, 60_000)]);
  await t.throwsAsync(streamed(chainOf(forLong.made).chain.stream(request, call())), { message: /limiting requests/ });
});

test('calls of other tenants wait too during the Retry-After of the only model', async (t) => {
  const { made, gaps } = timed(0, [failure('rateLimited', true, 500)]);
  const { chain } = chainOf(made);
  await t.throwsAsync(streamed(chain.stream(request, call())));
  t.deepEqual(await streamed(chain.stream(request, call(undefined, 2))), ['asked one', 'one', 'finish one']);
  t.true((gaps()[0] ?? 0) >= 450);

  const stop = new AbortController();
  const again = timed(0, [failure('rateLimited', true, 10_000)]);
  const other = chainOf(again.made).chain;
  await t.throwsAsync(streamed(other.stream(request, call())));
  const waiting = streamed(other.stream(request, call(stop.signal)));
  stop.abort(new Error('left'));
  await t.throwsAsync(waiting, { message: 'left' });
});

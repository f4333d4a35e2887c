import { once } from 'node:events';
import { setTimeout as delay, setImmediate as tick } from 'node:timers/promises';
import type { Caller } from '@parley/kernel/caller';
import { DomainError, invalid, notFound } from '@parley/kernel/errors';
import { EvaluationServiceDefinition } from '@parley/protos/parley/evaluation/v1/evaluation';
import { eventually } from '@parley/testing/eventually';
import { createGate, type Gate } from '@parley/testing/gate';
import test from 'ava';
import { createChannel, createClient } from 'nice-grpc';
import { HealthDefinition } from 'nice-grpc-server-health';
import { rpcClient } from '../src/client.ts';
import { caller, serving } from './support/rpc-served.ts';

test('a handler gets the caller', async (t) => {
  const seen: Caller[] = [];
  const { evaluation } = await serving(t, {
    getEvaluation: async (_request, context) => {
      seen.push(context.caller);
      return {};
    },
  });
  await evaluation.getEvaluation({ sessionId: 1 }, { caller });
  t.deepEqual(seen, [caller]);
});

for (const host of ['::1', '::']) {
  test(`a server on ${host} announces an address that clients reach`, async (t) => {
    const { evaluation, address } = await serving(t, { getEvaluation: async () => ({}) }, { host });
    t.regex(address(), /^\[::1?\]:\d+$/u);
    await t.notThrowsAsync(evaluation.getEvaluation({ sessionId: 1 }, { caller }));
  });
}

test('calls between units do not go to a proxy that the environment names', async (t) => {
  const { unit, callers, address } = await serving(t, { getEvaluation: async () => ({}) });
  const client = rpcClient({ unit, callers, address, definition: EvaluationServiceDefinition });
  t.teardown(() => client.stop());
  process.env.grpc_proxy = 'http://127.0.0.1:1'; // this variable is read when the channel is made, before `start` returns
  const started = client.start();
  delete process.env.grpc_proxy;
  await started;
  await t.notThrowsAsync(client.calls.getEvaluation({ sessionId: 1 }, { caller }));
});

test('a call without a verified caller reaches no handler; health checks are open', async (t) => {
  const { address } = await serving(t, { getEvaluation: async () => t.fail('must not be reached') });
  const channel = createChannel(address());
  t.teardown(() => channel.close());
  await t.throwsAsync(createClient(EvaluationServiceDefinition, channel).getEvaluation({ sessionId: 1 }), {
    message: /UNAUTHENTICATED/,
  });
  const { status } = await createClient(HealthDefinition, channel).check({ service: '' });
  t.is(status, 1); // the status SERVING
});

test('a method that a server of the version before does not have is unavailable', async (t) => {
  const { unit, callers, address } = await serving(t, {});
  const { getEvaluation } = EvaluationServiceDefinition.methods;
  const definition = { ...EvaluationServiceDefinition, methods: { added: { ...getEvaluation, name: 'Added' } } };
  const client = rpcClient({ unit, callers, address, definition });
  await client.start();
  t.teardown(() => client.stop());
  t.like(await t.throwsAsync(client.calls.added({ sessionId: 1 }, { caller })), { kind: 'unavailable' });
});

test('kind, reason and fields of an error arrive where the call expects that kind', async (t) => {
  const { evaluation } = await serving(t, {
    getEvaluation: async ({ sessionId }) => {
      throw sessionId === 1 ? invalid({ path: 'sessionId', message: 'is odd' }) : notFound('Session', sessionId);
    },
  });
  const odd = await t.throwsAsync(evaluation.getEvaluation({ sessionId: 1 }, { caller, expectedErrors: ['invalid'] }));
  t.like(odd, { kind: 'invalid', message: 'sessionId is odd', fields: [{ path: 'sessionId', message: 'is odd' }] });
  const absent = await t.throwsAsync(
    evaluation.getEvaluation({ sessionId: 2 }, { caller, expectedErrors: ['invalid'] }),
  );
  t.like(absent, { kind: 'internal' });
});

test('unavailable always arrives with its reason; a bug becomes internal without its cause', async (t) => {
  const { evaluation } = await serving(t, {
    getEvaluation: async ({ sessionId }) => {
      if (sessionId === 1) throw new DomainError('unavailable', 'no model', { reason: 'MODEL_UNAVAILABLE' });
      throw new Error('secret detail');
    },
  });
  t.like(await t.throwsAsync(evaluation.getEvaluation({ sessionId: 1 }, { caller })), {
    kind: 'unavailable',
    reason: 'MODEL_UNAVAILABLE',
  });
  const bug = await t.throwsAsync(evaluation.getEvaluation({ sessionId: 2 }, { caller, expectedErrors: ['internal'] }));
  t.like(bug, { kind: 'internal' });
  t.notRegex(bug?.message ?? '', /secret/);
});

test('an idempotent call is retried once where its connection is lost, and another call is not', async (t) => {
  const asked: number[] = [];
  let lost = 0;
  const { evaluation, proxy, ...to } = await serving(
    t,
    {
      getEvaluation: async ({ sessionId }) => {
        asked.push(sessionId);
        if (asked.length > lost) return {};
        proxy?.dropConnections();
        return new Promise(() => undefined);
      },
    },
    { viaProxy: true, drainTimeoutMs: 10 },
  );
  const options = { caller, timeoutMs: 60_000 };
  lost = 1;
  t.deepEqual((await evaluation.getEvaluation({ sessionId: 1 }, options)).evaluation, undefined);
  t.deepEqual(asked.splice(0), [1, 1]);
  lost = 2;
  t.like(await t.throwsAsync(evaluation.getEvaluation({ sessionId: 2 }, options)), { kind: 'unavailable' });
  t.deepEqual(asked.splice(0), [2, 2]);

  const { methods } = EvaluationServiceDefinition;
  const unmarked = {
    ...EvaluationServiceDefinition,
    methods: { getEvaluation: { ...methods.getEvaluation, options: {} } },
  };
  const client = rpcClient({ ...to, definition: unmarked });
  await client.start();
  t.teardown(() => client.stop());
  t.like(await t.throwsAsync(client.calls.getEvaluation({ sessionId: 3 }, options)), { kind: 'unavailable' });
  t.deepEqual(asked, [3], 'it may have had an effect');
});

test('a call that its handler has answered is never retried, not even where the answer is unavailable', async (t) => {
  const asked: number[] = [];
  const { evaluation } = await serving(t, {
    getEvaluation: async ({ sessionId }) => {
      asked.push(sessionId);
      throw sessionId === 1 ? new DomainError('unavailable', 'a service behind it is down') : notFound('Session', 2);
    },
  });
  t.like(await t.throwsAsync(evaluation.getEvaluation({ sessionId: 1 }, { caller })), { kind: 'unavailable' });
  t.like(await t.throwsAsync(evaluation.getEvaluation({ sessionId: 2 }, { caller })), { kind: 'internal' });
  t.deepEqual(asked, [1, 2]);
});

test('a retry does not extend the timeout of its call', async (t) => {
  t.timeout(60_000);
  const { evaluation, proxy } = await serving(t, {}, { viaProxy: true });
  await proxy?.cut();
  let isRetrying = false;
  const retry = { retryBaseDelayMs: 3_600_000, retryMaxDelayMs: 3_600_000 };
  const onRetryableError = () => {
    isRetrying = true;
  };
  await eventually('a call fails at its timeout while it waits for its retry', async () => {
    const call = { caller, timeoutMs: 500, ...retry, onRetryableError };
    t.like(await t.throwsAsync(evaluation.getEvaluation({ sessionId: 1 }, call)), { kind: 'unavailable' });
    return isRetrying; // on a busy machine the timeout may expire before the first attempt has failed
  });
});

test('a call that takes too long is unavailable, and the signal of its handler aborts', async (t) => {
  let aborted = false;
  const { evaluation } = await serving(t, {
    getEvaluation: async (_request, { signal }) => {
      if (!signal.aborted) await once(signal, 'abort');
      aborted = true;
      return {};
    },
  });
  // On a busy machine the timeout may expire before the call has reached its server.
  await eventually('the signal of a handler aborts', async () => {
    t.like(await t.throwsAsync(evaluation.getEvaluation({ sessionId: 1 }, { caller, timeoutMs: 50 })), {
      kind: 'unavailable',
    });
    return aborted;
  });
});

test('the signal of a handler aborts when its stream is left, by break or by abort', async (t) => {
  const ended: string[] = [];
  const { session } = await serving(t, {
    async *streamTranscript({ sessionId }, { signal }) {
      try {
        while (!signal.aborted) {
          yield {};
          await tick();
        }
      } finally {
        ended.push(`${sessionId}`);
      }
    },
  });
  for await (const _ of session.streamTranscript({ sessionId: 1 }, { caller })) break;
  const controller = new AbortController();
  await t.throwsAsync(
    async () => {
      for await (const _ of session.streamTranscript({ sessionId: 2 }, { caller, signal: controller.signal }))
        controller.abort();
    },
    { any: true, name: 'AbortError' },
  );
  while (ended.length < 2) await tick();
  t.deepEqual(ended.toSorted(), ['1', '2']);
});

test('a server that stops aborts drainSignal and waits for its streams', async (t) => {
  const open = createGate();
  const { session, stop } = await serving(t, {
    async *streamTranscript(_request, { drainSignal }) {
      yield {};
      open.open();
      await new Promise((resolve) => drainSignal.addEventListener('abort', resolve));
    },
  });
  let received = 0;
  const reading = (async () => {
    for await (const _ of session.streamTranscript({ sessionId: 1 }, { caller })) received += 1;
  })();
  await open.pass();
  await stop();
  await reading;
  t.is(received, 1);
});

/** A stream that sends its second piece when its server stops, and ends at `gate`. */
const saysItIsStopping = (gate: Gate) =>
  async function* (_request: unknown, { drainSignal }: { drainSignal: AbortSignal }) {
    yield {};
    if (!drainSignal.aborted) await once(drainSignal, 'abort');
    yield {};
    await gate.pass();
  };

test('a stream of a server that stops can be read to its end, even after the next keepalive ping', async (t) => {
  const keepaliveTimeoutMs = 2_000;
  const gate = createGate();
  const { session, stop } = await serving(
    t,
    { streamTranscript: saysItIsStopping(gate) },
    { keepaliveTimeoutMs, drainTimeoutMs: 60_000 },
  );
  const stream = session.streamTranscript({ sessionId: 1 }, { caller })[Symbol.asyncIterator]();
  await stream.next();
  const stopped = stop();
  await stream.next(); // the server sent this response after the GOAWAY
  const end = stream.next();
  // This delay is longer than the keepalive timeout: the client sends a ping after half of the timeout.
  await Promise.race([end, delay(1.25 * keepaliveTimeoutMs)]);
  gate.open();
  t.like(await end, { done: true });
  await stopped;
});

test('streams end when their server freezes while it stops', async (t) => {
  const handlers = { streamTranscript: saysItIsStopping(createGate()) };
  const { session, proxy, stop } = await serving(t, handlers, { viaProxy: true, drainTimeoutMs: 60_000 });
  const stream = session.streamTranscript({ sessionId: 1 }, { caller })[Symbol.asyncIterator]();
  await stream.next();
  const stopped = stop();
  await stream.next();
  proxy?.hold();
  await t.throwsAsync(stream.next(), { message: 'it is not available' });
  await stopped;
});

test('a call that a stopping server cancels is unavailable', async (t) => {
  const called = createGate();
  const { session, evaluation, stop } = await serving(
    t,
    {
      async *streamTranscript() {
        yield {};
        await new Promise(() => undefined);
      },
      getEvaluation: () => {
        called.open();
        return new Promise(() => undefined);
      },
    },
    { drainTimeoutMs: 10 },
  );
  const stream = session.streamTranscript({ sessionId: 1 }, { caller })[Symbol.asyncIterator]();
  await stream.next();
  const errors = [
    t.throwsAsync(stream.next()),
    t.throwsAsync(evaluation.getEvaluation({ sessionId: 1 }, { caller, timeoutMs: 60_000 })),
  ];
  await called.pass();
  await stop();
  for (const error of await Promise.all(errors)) t.like(error, { kind: 'unavailable', reason: undefined });
});

test('streams end when their server freezes, and later calls reconnect', async (t) => {
  const handler = async function* () {
    yield {};
    await new Promise(() => undefined);
  };
  const { session, proxy } = await serving(t, { streamTranscript: handler }, { viaProxy: true });
  const stream = session.streamTranscript({ sessionId: 1 }, { caller })[Symbol.asyncIterator]();
  t.like(await stream.next(), { done: false });
  proxy?.hold();
  await t.throwsAsync(stream.next(), { message: 'it is not available' });

  const another = session.streamTranscript({ sessionId: 1 }, { caller })[Symbol.asyncIterator]();
  t.like(await another.next(), { done: false });
  await another.return?.();
});

import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { createCallers } from '@parley/kernel/caller';
import { EvaluationServiceDefinition } from '@parley/protos/parley/evaluation/v1/evaluation';
import { SessionServiceDefinition } from '@parley/protos/parley/session/v1/session';
import { changingName } from '@parley/testing/changing-name';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { rpcClient } from '../src/client.ts';
import { caller, serving } from './support/rpc-served.ts';

/** Makes calls one after another until the returned function is called. The function returns the number of failures. */
function calling(call: () => Promise<unknown>) {
  let failures = 0;
  const stop = new AbortController();
  const done = (async () => {
    while (!stop.signal.aborted) {
      await call().catch(() => {
        failures += 1;
      });
      await delay(1);
    }
  })();
  return async () => {
    stop.abort();
    await done;
    return failures;
  };
}

const { methods } = EvaluationServiceDefinition;
/** The method is not marked as idempotent, because a retry would hide that a call was refused. */
const definition = {
  ...EvaluationServiceDefinition,
  methods: { getEvaluation: { ...methods.getEvaluation, options: {} } },
};

test('processes that are added behind a name get calls, and none is refused', async (t) => {
  const name = changingName(t, 'notes.scaling.invalid');
  const served = [0, 0, 0];
  const gate = createGate();
  const callers = createCallers(randomBytes(32));
  const serve = async (index: number, port: number) =>
    serving(
      t,
      {
        getEvaluation: async () => {
          served[index] = (served[index] ?? 0) + 1;
          return {};
        },
        async *streamTranscript() {
          yield {};
          await gate.pass();
          yield {};
        },
      },
      { host: `127.0.0.${index + 2}`, port, callers },
    );
  const first = await serve(0, 0);
  const port = Number(new URL(`tcp://${first.address()}`).port);
  name.set('127.0.0.2');
  const to = { unit: 'it', callers, address: () => `notes.scaling.invalid:${port}`, mesh: { lookupIntervalMs: 20 } };
  const client = rpcClient({ ...to, definition });
  const watching = rpcClient({ ...to, definition: SessionServiceDefinition });
  for (const each of [client, watching]) {
    await each.start();
    t.teardown(() => each.stop());
  }
  const stream = watching.calls.streamTranscript({ sessionId: 1 }, { caller })[Symbol.asyncIterator]();
  await stream.next();
  const stop = calling(() => client.calls.getEvaluation({ sessionId: 1 }, { caller }));
  await eventually('the first process is called', () => served[0]);

  await serve(1, port);
  await serve(2, port);
  name.set('127.0.0.2', '127.0.0.3', '127.0.0.4');
  await eventually('each process is called', () => served.every((calls) => calls > 20));

  name.set('127.0.0.3', '127.0.0.4');
  await eventually('the process that was taken away is called no more', async () => {
    const [before = 0, another = 0] = served;
    await eventually('the others are', () => (served[1] ?? 0) > another + 5);
    return served[0] === before;
  });

  name.set();
  const { lookups } = name;
  await eventually('looking up fails', () => name.lookups > lookups + 1);
  const [, before = 0] = served;
  await eventually('the last known processes are called', () => (served[1] ?? 0) > before + 5);
  t.is(await stop(), 0);

  gate.open();
  t.like(await stream.next(), { done: false }, 'a stream stays with its process');
});

import { randomBytes } from 'node:crypto';
import { Writable } from 'node:stream';
import { callerHeader, createCallers, serviceCaller } from '@parley/kernel/caller';
import { unavailable } from '@parley/kernel/errors';
import { createMetrics } from '@parley/kernel/metrics';
import { eventually } from '@parley/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { type GraphContext, subgraph } from '../src/subgraph.ts';

const typeDefs = `
  type Query {
    quick: Boolean @access(by: [])
    slow: Boolean @access(by: [])
  }`;

/** A subgraph whose `slow` waits until its client disconnects, and its log lines. */
async function waitingSubgraph(t: ExecutionContext) {
  const callers = createCallers(randomBytes(32));
  const lines: string[] = [];
  const sink = new Writable({ write: (line, _, done) => done(void lines.push(String(line))) });
  const signals: AbortSignal[] = [];
  let url = '';
  const part = subgraph<GraphContext>({
    unit: 'test',
    port: 0,
    typeDefs,
    resolvers: {
      Query: {
        quick: () => true,
        slow: (_: unknown, __: unknown, { gone }: GraphContext) =>
          new Promise((_resolve, reject) => {
            gone.addEventListener('abort', () => reject(unavailable('The caller has gone', gone.reason)));
          }),
      },
    },
    context: (request) => {
      signals.push(request.gone);
      return request;
    },
    callers,
    log: pino({}, sink),
    metrics: createMetrics('test'),
    onListening: (listening) => {
      url = listening;
    },
  });
  await part.start();
  t.teardown(() => part.stop());
  const send = async (query: string, signal?: AbortSignal) =>
    fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        [callerHeader]: await callers.mint(serviceCaller('test', null, 'test'), 'test'),
      },
      body: JSON.stringify({ query }),
      ...(signal && { signal }),
    });
  return { send, signals, lines };
}

test('the signal of a resolver aborts when its client disconnects, and the abort is not logged as a failure', async (t) => {
  const { send, signals, lines } = await waitingSubgraph(t);
  const client = new AbortController();
  const answer = t.throwsAsync(send('{ slow }', client.signal), { name: 'AbortError' });
  await eventually('the request arrives', () => signals.length === 1);
  client.abort();
  await answer;
  await eventually('the signal of the resolver aborts', () => signals[0]?.aborted);

  t.is((await send('{ quick }')).status, 200);
  t.deepEqual(lines, []);
});

test('the signal of a resolver does not abort after the answer', async (t) => {
  const { send, signals } = await waitingSubgraph(t);
  t.deepEqual(await (await send('{ quick }')).json(), { data: { quick: true } });
  t.deepEqual(await (await send('{ quick }')).json(), { data: { quick: true } }); // by then the first is over on the server too
  t.deepEqual(
    signals.map(({ aborted }) => aborted),
    [false, false],
  );
});

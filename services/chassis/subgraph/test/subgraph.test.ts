import { randomBytes } from 'node:crypto';
import { Agent, request as httpRequest } from 'node:http';
import { Writable } from 'node:stream';
import { effectKeyOf } from '@parley/graph/effect-key';
import { answerBudget } from '@parley/kernel/answer-budget';
import { callerHeader, createCallers, serviceCaller } from '@parley/kernel/caller';
import { unavailable } from '@parley/kernel/errors';
import { createMetrics } from '@parley/kernel/telemetry/metrics';
import { collectGarbage } from '@parley/testing/collect-garbage';
import { eventually } from '@parley/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { buildSchema, type GraphQLResolveInfo } from 'graphql';
import { pino } from 'pino';
import { graphAnswer } from '../src/graph-answer.ts';
import { operations } from '../src/operations.ts';
import { type GraphContext, graphContext, subgraph } from '../src/subgraph.ts';

const typeDefs = `
  type Query {
    quick: Boolean @access(by: [])
    slow: Boolean @access(by: [])
    busy: Boolean @access(by: [])
  }
  type Subscription {
    told: Boolean @access(by: [])
  }`;

/** A subgraph and its log lines. The resolver of its field `slow` waits until the client disconnects. */
async function waitingSubgraph(t: ExecutionContext, { sdl = typeDefs, host = '127.0.0.1' } = {}) {
  const callers = createCallers(randomBytes(32));
  const lines: string[] = [];
  const sink = new Writable({ write: (line, _, done) => done(void lines.push(String(line))) });
  const signals: AbortSignal[] = [];
  const seen = { busy: 0 };
  const metrics = createMetrics('test');
  let url = '';
  const part = subgraph<GraphContext>({
    unit: 'test',
    host,
    port: 0,
    typeDefs: sdl,
    resolvers: {
      Query: {
        quick: () => true,
        busy: () => {
          seen.busy += 1;
          for (const until = performance.now() + 5; performance.now() < until; );
          return true;
        },
        slow: (_: unknown, __: unknown, { request }: GraphContext, info: GraphQLResolveInfo) =>
          new Promise((_resolve, reject) => {
            const { signal } = request(info);
            signal.addEventListener('abort', () => reject(unavailable('The caller has left', signal.reason)));
          }),
      },
    },
    context: (request) => {
      signals.push(request.request({ path: { key: 'quick' } }).signal);
      return request;
    },
    callers,
    log: pino({}, sink),
    metrics,
    onListening: (listening) => {
      url = listening;
    },
  });
  await part.start();
  t.teardown(() => part.stop());
  const headersFor = async (tenantId: number | null) => ({
    'content-type': 'application/json',
    [callerHeader]: await callers.mint(serviceCaller('test', tenantId, 'test'), 'test'),
  });
  const request = async (init: RequestInit) => fetch(url, { headers: await headersFor(null), method: 'POST', ...init });
  const send = async (query: string, signal?: AbortSignal) =>
    request({ body: JSON.stringify({ query }), ...(signal && { signal }) });
  return { url, request, send, headersFor, signals, seen, lines, metrics };
}

test('a request has the caller and the effect key of its field, and a tenant request without a tenant is refused', (t) => {
  const { signal } = new AbortController();
  const caller = { ...serviceCaller('test', 7, 'test'), idempotencyKey: 'use-1' };
  const { request, tenantRequest } = graphContext(caller, signal, graphAnswer(answerBudget(0)));
  const at = (key: string) => ({ path: { key } });
  t.deepEqual(request(at('a')), { caller, signal, effectKey: effectKeyOf(caller, at('a')) });
  t.deepEqual(tenantRequest(at('a')), request(at('a')));
  t.not(tenantRequest(at('b')).effectKey, request(at('a')).effectKey);

  const nowhere = graphContext({ ...caller, tenantId: null }, signal, graphAnswer(answerBudget(0)));
  t.is(nowhere.request(at('a')).caller.tenantId, null);
  t.like(
    t.throws(() => nowhere.tenantRequest(at('a'))),
    { kind: 'forbidden', reason: 'NO_TENANT' },
  );
});

test('a server on an IPv6 address announces a URL that reaches it', async (t) => {
  const { send } = await waitingSubgraph(t, { host: '::1' });
  t.is((await send('{ quick }')).status, 200);
});

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
  t.deepEqual(await (await send('{ quick }')).json(), { data: { quick: true } }); // by now the server has also finished the first request
  t.deepEqual(
    signals.map(({ aborted }) => aborted),
    [false, false],
  );
});

test('a new connection of another tenant is served before the remaining requests of a busy tenant', async (t) => {
  const { url, headersFor, seen } = await waitingSubgraph(t);
  const connections = 40;
  const [busy, other] = [await headersFor(1), await headersFor(2)];
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  t.teardown(() => agent.destroy());
  const ask = (query: string, headers: Record<string, string>, by: Agent) =>
    new Promise<number | undefined>((resolve, reject) => {
      const sent = httpRequest(url, { method: 'POST', agent: by, headers }, (response) =>
        response.resume().once('end', () => resolve(response.statusCode)),
      );
      sent.once('error', reject).end(JSON.stringify({ query }));
    });
  const askOnAll = (query: string) => Array.from({ length: connections }, () => ask(query, busy, agent));
  await Promise.all(askOnAll('{ quick }'));
  const all = Promise.all(askOnAll('{ busy }'));
  const status = await ask('{ quick }', other, new Agent());
  const before = seen.busy;
  t.is(status, 200);
  t.true(before < connections / 2, `${before} of ${connections} were served before it`);
  await all;
});

test('a subgraph with a root field without @access does not start', async (t) => {
  for (const [type, field] of [
    ['Query', 'quick'],
    ['Subscription', 'told'],
  ] as const) {
    const forgotten = typeDefs.replace(`${field}: Boolean @access(by: [])`, `${field}: Boolean`);
    await t.throwsAsync(waitingSubgraph(t, { sdl: forgotten }), { message: `${type}.${field} has no @access` });
  }
});

interface Answer {
  data?: unknown;
  errors?: { message: string; extensions?: Record<string, unknown> }[];
}
const answersIn = (json: unknown) => json as Answer;

test('an invalid GraphQL request is refused and runs nothing', async (t) => {
  const { url, request, signals } = await waitingSubgraph(t);
  const refusals: [RequestInit, number][] = [
    [{ method: 'GET' }, 405],
    [{ body: '{"query": "{ quick }"' }, 400],
    [{ body: '"{ quick }"' }, 400],
    [{ body: '{}' }, 400],
    [{ body: '{"query": "{ quick }", "variables": []}' }, 400],
    [{ body: '{"query": "{ quick }", "operationName": 1}' }, 400],
    [{ body: `{"query": "{ quick }", "variables": {"a": "${'x'.repeat(9_500_000)}"}}` }, 413],
  ];
  for (const [init, status] of refusals) {
    const answer = await request(init);
    t.is(answer.status, status, String(init.body).slice(0, 50));
    t.is(typeof answersIn(await answer.json()).errors?.[0]?.message, 'string');
  }
  const chunks = async function* () {
    for (let n = 0; n < 100; n += 1) yield Buffer.alloc(100_000, 'x');
  };
  const chunked = await request({ body: ReadableStream.from(chunks()), duplex: 'half' }).catch(() => undefined);
  t.true(chunked === undefined || chunked.status === 413, 'the connection may be closed before all of it is sent');
  t.is((await fetch(url, { method: 'POST', body: '{"query": "{ quick }"}' })).status, 401);
  t.deepEqual(signals, []);
});

test('problems of document, operation or variables are reported with their code', async (t) => {
  const { request, lines } = await waitingSubgraph(t);
  const codeOf = async (asked: object) => {
    const answer = await request({ body: JSON.stringify(asked) });
    t.is(answer.status, 200);
    const { data, errors: [error] = [] } = answersIn(await answer.json());
    return [data, error?.extensions?.code, error?.extensions?.statusCode];
  };
  const withVariable = 'query ($no: Boolean!) { quick @skip(if: $no) }';
  const wrong: [object, string][] = [
    [{ query: '{ quick' }, 'GRAPHQL_PARSE_FAILED'],
    [{ query: `${'{ quick '.repeat(20_000)}${'}'.repeat(20_000)}` }, 'GRAPHQL_PARSE_FAILED'],
    [{ query: 'subscription { told }' }, 'OPERATION_RESOLUTION_FAILURE'],
    [{ query: '{ nothing }' }, 'GRAPHQL_VALIDATION_FAILED'],
    [{ query: '{ __schema { types { name } } }' }, 'GRAPHQL_VALIDATION_FAILED'],
    [{ query: 'query A { quick } query B { quick }' }, 'OPERATION_RESOLUTION_FAILURE'],
    [{ query: 'query A { quick }', operationName: 'C' }, 'OPERATION_RESOLUTION_FAILURE'],
    [{ query: withVariable, variables: { no: 'secret' } }, 'BAD_USER_INPUT'],
  ];
  for (const [asked, code] of wrong) t.deepEqual(await codeOf(asked), [undefined, code, 400], code);
  // The first text is already cached: a request above was refused for its variable. The second text has two operations.
  t.deepEqual(await codeOf({ query: withVariable, variables: { no: true } }), [{}, undefined, undefined]);
  t.deepEqual(await codeOf({ query: 'query A { quick } query B { slow: quick }', operationName: 'B' }), [
    { slow: true },
    undefined,
    undefined,
  ]);
  t.deepEqual(lines, []);
});

test('each root field of an operation is counted with its outcome', async (t) => {
  const { send, metrics } = await waitingSubgraph(t);
  await send('{ quick again: quick }');
  await send('query ($no: Boolean!) { quick @skip(if: $no) }');
  const text = await metrics.registry.metrics();
  const count = (outcome: string) =>
    Number(new RegExp(`_count\\{[^}]*operation="quick"[^}]*outcome="${outcome}"[^}]*\\} (\\d+)`, 'u').exec(text)?.[1]);
  t.deepEqual([count('ok'), count('refused'), count('error')], [2, 1, Number.NaN], text);
});

test('cached documents take a bounded amount of memory', async (t) => {
  const schema = buildSchema('type Query { quick(of: [Int!]): Boolean }');
  const run = operations({ schema, format: (formatted) => formatted });
  const heapBytes = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const before = heapBytes();
  // Each document takes about 0.7 MB.
  for (let n = 0; n < 250; n += 1)
    t.is((await run({ query: `{ quick(of: [${`${n} `.repeat(3_000)}]) }` }, {})).errors, undefined);
  const growth = heapBytes() - before;
  t.true(growth < 90_000_000, `${growth} bytes`);
});

import { randomBytes, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { createCallers, inTenant } from '@parley/kernel/caller';
import { listen } from '@parley/kernel/http/listen';
import { createLogger } from '@parley/kernel/telemetry/log';
import { outbound } from '@parley/outbound/outbound';
import { ActionServiceDefinition, type CallResult } from '@parley/protos/parley/action/v1/action';
import { rpcClient } from '@parley/rpc/client';
import { createAction, createConnector } from '@parley/stories/actions';
import { Client } from '@parley/stories/client';
import { atOnce, type Figure, figure, medianOf, oneByOne, quantile, tookMs } from './figures.ts';
import { onServers } from './on-servers.ts';
import { type BenchOptions, limits, openPlace } from './processes.ts';

/** Response time of the bench's slow server, in ms. The bench's other servers respond at once. */
const slowMs = 250;
const slowCalls = 200;
/** The number of tenants that call a server that never responds. */
const hangingTenants = 60;
/** The number of calls by each tenant in `hangingTenants`; more than the maximum number of concurrent calls to one target. */
const hangingCalls = 10;
/** The number of warm-up calls. After these, V8 has compiled most of the code that a call runs. */
const warmUp = 2_000;
const outboundSettings = { OUTBOUND_ALLOWLIST: '127.0.0.1', OUTBOUND_PORTS: '1-65535' };
/** Each tenant has its own IP address, because accounts are throttled by address. */
const trustedProxy = { TRUSTED_PROXIES: '127.0.0.1/32' };
const answer = { found: Array.from({ length: 20 }, (_, n) => ({ id: n, name: `The item with the number ${n}` })) };

/**
 * Measures the calls that a mesh of processes on real servers makes to custom actions and tools: alone, and while 200 calls to a slow
 * server are running.
 */
export function actionsFigures(options: BenchOptions): Promise<Figure[]> {
  return onServers('actions', options, async (servers) => {
    const { say, short } = options;
    say('processes');
    await using parts = new AsyncDisposableStack();
    const world = await startWorld();
    parts.defer(() => world.stop());
    await using place = await openPlace(options);
    const meshKey = randomBytes(32);
    const settings = { ...limits, ...outboundSettings, ...trustedProxy, MESH_KEY: meshKey.toString('base64') };
    const mesh = parts.use(await place.start({ ...servers.env, ...settings }, '--mesh'));
    const definition = ActionServiceDefinition;
    const address = () => mesh.units['action']?.rpc ?? '';
    const action = rpcClient({ definition, unit: 'action', address, callers: createCallers(meshKey) });
    await action.start();
    parts.defer(() => action.stop());
    const open = () => openTenant(mesh.urls[0] ?? '', world.url);
    const tenants = await oneByOne(short ? 2 : 8, open);
    const crowd = await oneByOne(short ? 2 : hangingTenants, open);
    const caller = callerOf(action.calls);
    return [
      ...(await callFigures(options, tenants, world.url, caller)),
      ...(await neighbourFigures(options, tenants, crowd, caller)),
    ];
  });
}

type Tenant = Awaited<ReturnType<typeof openTenant>>;
type Caller = ReturnType<typeof callerOf>;

async function startWorld() {
  const http = createServer(async (request, response) => {
    const body = await text(request);
    const message: { id?: number; method?: string } = request.url === '/mcp' && body !== '' ? JSON.parse(body) : {};
    if (request.url === '/hang') return;
    if (request.url === '/slow') await delay(slowMs);
    if (request.url === '/mcp' && message.id === undefined)
      return response.writeHead(request.method === 'POST' ? 202 : 405).end();
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify(message.id === undefined ? answer : { jsonrpc: '2.0', id: message.id, result: resultOf(message) }),
    );
  });
  const url = `http://${await listen(http)}`;
  return {
    url,
    async stop(): Promise<void> {
      http.closeAllConnections();
      await http[Symbol.asyncDispose]();
    },
  };
}

function resultOf({ method }: { method?: string }): object {
  const serverInfo = { name: 'bench', version: '1' };
  if (method === 'initialize') return { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo };
  if (method === 'tools/list') return { tools: [{ name: 'find', inputSchema: { type: 'object' } }] };
  return { content: [{ type: 'text', text: JSON.stringify(answer) }] };
}

async function openTenant(gateway: string, world: string) {
  const owner = new Client(gateway);
  await owner.register();
  const { id } = await owner.value<{ id: number }>('{ myTenant { id } }');
  return {
    id,
    actionId: await createAction(owner, { url: `${world}/items` }),
    slowId: await createAction(owner, { url: `${world}/slow` }),
    hangingId: await createAction(owner, { url: `${world}/hang` }),
    connectorId: await createConnector(owner, { serverUrl: `${world}/mcp` }),
  };
}

/**
 * Returns functions that call custom actions and a connector's tool in the same way as the agent service. `action` and `tool` throw an
 * Error if the call fails; `slow` and `hanging` do not check the result.
 */
function callerOf(
  calls: Pick<ReturnType<typeof rpcClient<typeof ActionServiceDefinition>>['calls'], 'callAction' | 'callTool'>,
) {
  const options = (tenantId: number, signal?: AbortSignal) => ({
    caller: inTenant({ kind: 'service', service: 'bench', tenantId, requestId: 'bench' }),
    timeoutMs: 60_000,
    ...(signal && { signal }),
  });
  const given = () => ({ argumentsJson: '{}', key: { turn: randomUUID(), call: '1.0', note: Buffer.of() } });
  function checked(result: CallResult | undefined): void {
    if (result?.errorKind !== '') throw new Error(`A call failed: ${result?.errorKind} ${result?.errorMessage}`);
  }
  return {
    async action({ id, actionId }: Tenant): Promise<void> {
      checked((await calls.callAction({ actionId, ...given() }, options(id))).result);
    },
    async tool({ id, connectorId }: Tenant): Promise<void> {
      const tool = { connectorId, name: 'find' };
      checked((await calls.callTool({ tool, ...given() }, options(id))).result);
    },
    slow: ({ id, slowId: actionId }: Tenant, signal: AbortSignal) =>
      calls.callAction({ actionId, ...given() }, options(id, signal)),
    hanging: ({ id, hangingId: actionId }: Tenant, signal: AbortSignal) =>
      calls.callAction({ actionId, ...given() }, options(id, signal)),
  };
}

/**
 * Compares the durations of whole calls with those of plain requests. The bench's process sends the plain requests itself, through the same
 * outbound guard as the calls. Calls and requests are measured one at a time and sixteen at a time.
 */
async function callFigures(
  { rounds, short, say }: BenchOptions,
  tenants: Tenant[],
  world: string,
  { action, tool }: Caller,
): Promise<Figure[]> {
  const guard = outbound({ allowlist: ['127.0.0.1'], ports: ['1-65535'], log: createLogger('bench') });
  const plain = { method: 'POST' as const, timeoutMs: 30_000, maxBytes: 2 ** 20 };
  const headers = { 'content-type': 'application/json' };
  const bare = {
    action: () => guard.fetch(`${world}/items`, { ...plain, headers, body: '{}' }),
    tool: () =>
      guard.fetch(`${world}/mcp`, { ...plain, headers, body: '{"jsonrpc":"2.0","id":1,"method":"tools/call"}' }),
  };
  const whole = { action, tool };
  const next = (n: number) => tenants[n % tenants.length] as Tenant;
  async function times(one: (n: number) => Promise<unknown>, count: number, calls: number) {
    const begunAt = performance.now();
    const all = await atOnce(count, (at) => oneByOne(Math.ceil(calls / count), (n) => tookMs(() => one(at + n))));
    const durations = all.flat();
    return { times: durations, rate: (durations.length * 1_000) / (performance.now() - begunAt) };
  }

  say(`calls of actions and tools, ${rounds} rounds`);
  const calls = short ? 4 : 400;
  const measured: Figure[] = [];
  for (const kind of ['action', 'tool'] as const) {
    await times((n) => whole[kind](next(n)), 16, short ? 4 : warmUp);
    await times(bare[kind], 16, short ? 4 : warmUp);
    for (const count of [1, 16]) {
      const all = await oneByOne(rounds, async () => ({
        bare: await times(bare[kind], count, calls),
        whole: await times((n) => whole[kind](next(n)), count, calls),
      }));
      const added = (q: number) =>
        medianOf(all, (each) => quantile(each.whole.times, q) - quantile(each.bare.times, q));
      const name = kind === 'action' ? 'a custom action' : 'a tool';
      measured.push(
        figure(`${name} over a bare request, ${count} at once, p50`, added(0.5), 'ms'),
        figure(`${name} over a bare request, ${count} at once, p99`, added(0.99), 'ms'),
        figure(
          `${name}, ${count} at once`,
          medianOf(all, (each) => each.whole.rate),
          '/s',
        ),
        figure(
          `a bare request of ${name}, ${count} at once`,
          medianOf(all, (each) => each.bare.rate),
          '/s',
        ),
      );
    }
  }
  return measured;
}

/**
 * Measures the calls of some tenants, four calls at a time, in three situations: alone, while another tenant has 200 calls to a slow
 * server, and while many other tenants call a server that never responds.
 */
async function neighbourFigures(
  { rounds, short, say }: BenchOptions,
  [busy, ...others]: Tenant[],
  crowd: Tenant[],
  { action, slow, hanging }: Caller,
): Promise<Figure[]> {
  if (!busy) throw new Error('There are no tenants');
  say(
    `calls beside ${slowCalls} to a slow server, and beside ${hangingTenants} tenants at one that hangs, ${rounds} rounds`,
  );
  const calls = short ? 2 : 200;
  const quick = async () =>
    (
      await atOnce(4, (at) =>
        oneByOne(calls / (short ? 1 : 4), (n) => tookMs(() => action(others[(at + n) % others.length] as Tenant))),
      )
    ).flat();

  async function beside(begin: (signal: AbortSignal) => Promise<unknown>): Promise<number[]> {
    const over = new AbortController();
    const waiting = begin(over.signal);
    await delay(slowMs); // all slow calls are waiting now
    const times = await quick();
    over.abort();
    await waiting;
    return times;
  }
  const besideSlow = () =>
    beside((signal) => atOnce(short ? 20 : slowCalls, () => slow(busy, signal).catch(() => undefined)));
  const besideHanging = () =>
    beside((signal) =>
      atOnce(crowd.length * (short ? 1 : hangingCalls), (n) =>
        hanging(crowd[n % crowd.length] as Tenant, signal).catch(() => undefined),
      ),
    );

  await besideSlow(); // warm-up
  const all = await oneByOne(rounds, async () => ({
    alone: await quick(),
    slow: await besideSlow(),
    hanging: await besideHanging(),
  }));
  const of = (which: 'alone' | 'slow' | 'hanging', q: number) => medianOf(all, (each) => quantile(each[which], q));
  const ratio = (which: 'slow' | 'hanging', q: number) =>
    medianOf(all, (each) => quantile(each[which], q) / quantile(each.alone, q));
  const name = `a call of another tenant beside ${slowCalls} to a slow server`;
  const besideCrowd = `a call of another tenant beside ${hangingTenants} tenants' to a server that hangs`;
  return [
    figure('a call, four at once, p50', of('alone', 0.5), 'ms'),
    figure(`${name}, p50`, of('slow', 0.5), 'ms'),
    figure(`${name}, over one without, p50`, ratio('slow', 0.5), '×', { goal: 1.5 }),
    figure(`${name}, over one without, p99`, ratio('slow', 0.99), '×'),
    figure(`${besideCrowd}, p50`, of('hanging', 0.5), 'ms'),
    figure(`${besideCrowd}, over one without, p50`, ratio('hanging', 0.5), '×', { goal: 1.5 }),
    figure(`${besideCrowd}, the slowest`, Math.max(...all.flatMap((each) => each.hanging)), 'ms'),
  ];
}

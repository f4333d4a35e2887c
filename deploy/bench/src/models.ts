import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@parley/stories/client';
import { eventually } from '@parley/testing/eventually';
import { startModelServer } from '@parley/testing/model-server';
import { askWithKey, type KeyHolder, modelAnswerMs } from './client.ts';
import { cpuOf, type Root } from './costs.ts';
import { atOnce, type Figure, figure, medianOf, oneByOne, quantile } from './figures.ts';
import { ledgerFigures, summaryFigures } from './ledger.ts';
import { modelName } from './model-name.ts';
import { neighbourFigures, providerOf } from './neighbours.ts';
import { enginesOf, onServers } from './on-servers.ts';
import { type BenchOptions, limits, openPlace, type StartedMesh } from './processes.ts';

const prompt = 'How long does it take until you begin to answer?';
// allow-name generateText: the operation that is measured.
const operation = 'generateText';
const document = `query ($input: GenerateTextInput!) { ${operation}(input: $input) { text providerId modelId costUsd } }`;
const usage = '{ apiUsageSummary { costThisMonthUsd breakdown { operation count } } }';

/** A price so low that no tenant comes near its monthly spend cap. */
const usdPerToken = 1e-9;
/** The number of warm-up calls. After these, V8 has compiled most of the code that a call runs. */
const warmUp = 12_000;

/** A number of concurrent calls and the goals for its figures. */
interface Load {
  count: number;
  p50?: { goal: number };
  rate?: { atLeast: number };
}
const many: Load[] = [{ count: 1, p50: { goal: 4 } }, { count: 16, rate: { atLeast: 400 } }, { count: 64 }];
const few: Load[] = [{ count: 1 }, { count: 2 }, { count: 4 }];

interface Usage {
  apiUsageSummary: { costThisMonthUsd: number; breakdown: { operation: string; count: number }[] };
}

/** Measures metered direct model calls in the mesh of processes on real servers, and the ledger alone. */
export function modelsFigures(options: BenchOptions): Promise<Figure[]> {
  return onServers('models', options, async (servers) => {
    const { say, short } = options;
    say('processes');
    await using place = await openPlace(options);
    const prices = join(place.folder, 'prices.json');
    const cost = { input_cost_per_token: usdPerToken, output_cost_per_token: usdPerToken };
    writeFileSync(prices, JSON.stringify({ [modelName]: cost }));
    const meshKey = randomBytes(32);
    await using parts = new AsyncDisposableStack();
    const other = await startModelServer();
    parts.defer(() => other.stop());
    const settings = {
      ...limits,
      ...providerOf(other, modelName),
      LLM_PRICES_FILE: prices,
      MESH_KEY: meshKey.toString('base64'),
      // The bench is a trusted proxy that gives each call its own IP address, because calls are throttled by address.
      TRUSTED_PROXIES: '127.0.0.1/32',
    };
    const mesh = parts.use(await place.start({ ...servers.env, ...settings }, '--mesh'));
    const owners = await oneByOne(short ? 2 : 16, async (n) => {
      const owner = new Client(mesh.urls[n % mesh.urls.length] ?? '');
      await owner.register();
      return owner;
    });
    const roots = [{ name: 'supervisor', pid: mesh.pid }, ...enginesOf(servers)];
    const call = await caller(owners);
    const calls = await callFigures(options, mesh, roots, call);
    await eventually(`${call.made()} calls in the ledger`, async () => (await meteredCalls(owners)) === call.made());
    const neighbours = await neighbourFigures(options, mesh, other, () => call({ provider: 'CLOUD_HOSTED_MODELS' }));
    const tenants = await oneByOne(owners.length, async (n) =>
      (owners[n] as Client).value<{ id: number }>('{ myTenant { id } }'),
    );
    const tenantIds = tenants.map(({ id }) => id);
    const ledger = await ledgerFigures(options, mesh.units['identity']?.rpc ?? '', meshKey, tenantIds);
    const [busiest = 0] = tenantIds;
    const summary = () => (owners[0] as Client).query(usage);
    return [
      ...calls,
      ...neighbours,
      ...ledger,
      ...(await summaryFigures(options, servers.env.DATABASE_URL ?? '', busiest, summary)),
    ];
  });
}

/** Returns a function that makes direct calls. It takes the tenants in rotation; each call has its own IP address. */
async function caller(owners: Client[]) {
  const holders = await oneByOne(owners.length, async (n): Promise<KeyHolder> => {
    const { url, apiKey = '' } = await (owners[n] as Client).withApiKey();
    return { url, apiKey };
  });
  let made = 0;
  function call(input: { provider?: string } = {}): Promise<number> {
    const n = made++;
    const address = `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`;
    return askWithKey(holders[n % holders.length] as KeyHolder, address, document, { input: { prompt, ...input } });
  }
  return Object.assign(call, { made: () => made });
}

/**
 * Compares the durations of whole calls with those of requests that the same client sends directly to the model server, at three levels: 1,
 * 16 and 64 concurrent calls.
 */
async function callFigures(
  options: BenchOptions,
  { modelUrl }: StartedMesh,
  roots: Root[],
  call: () => Promise<number>,
): Promise<Figure[]> {
  const { rounds, short, say } = options;
  const direct = () => modelAnswerMs(modelUrl, prompt);

  /** Runs calls, `count` at a time. Returns their durations in ms, the calls per second, and the CPU time of the mesh per call in ms. */
  async function period(one: () => Promise<number>, count: number, calls: number) {
    const before = cpuOf(roots);
    const begunAt = performance.now();
    const times = await atOnce(count, () => oneByOne(Math.ceil(calls / count), () => one()));
    const all = times.flat();
    const rate = (all.length * 1_000) / (performance.now() - begunAt);
    const after = cpuOf(roots);
    const cpu = Object.fromEntries(
      Object.entries(after).map(([name, ms]) => [name, (ms - (before[name] ?? 0)) / all.length]),
    );
    return { times: all, rate, cpu };
  }

  if (!short) {
    say('calls of a model, warm-up');
    await period(call, 16, warmUp);
  }
  const loads = short ? few : many;
  const measured = await oneByOne(loads.length, async (index) => {
    const { count, p50, rate } = loads[index] as Load;
    const calls = short ? 4 : Math.max(200, 40 * count);
    say(`calls of a model, ${count} at once, ${rounds} rounds`);
    const round = async () => ({
      direct: await period(direct, count, calls),
      whole: await period(call, count, calls),
    });
    await round(); // another warm-up
    const all = await oneByOne(rounds, round);
    const added = (q: number) =>
      medianOf(all, (each) => quantile(each.whole.times, q) - quantile(each.direct.times, q));
    const rateOf = (which: 'whole' | 'direct') => medianOf(all, (each) => each[which].rate);
    const used = Object.keys(all[0]?.whole.cpu ?? {}).filter((name) => index === 1 && !name.startsWith('CPU,'));
    const cpu = used.map((name) =>
      figure(
        `${operation}, ${count} at once, ${name} for a call`,
        medianOf(all, (each) => each.whole.cpu[name] ?? 0),
        'ms',
      ),
    );
    return [
      figure(`${operation} over a direct call, ${count} at once, p50`, added(0.5), 'ms', p50),
      figure(`${operation} over a direct call, ${count} at once, p99`, added(0.99), 'ms'),
      figure(`${operation}, ${count} at once`, rateOf('whole'), '/s', rate),
      figure(`a direct call, ${count} at once`, rateOf('direct'), '/s'),
      ...cpu,
    ];
  });
  return measured.flat();
}

/** Returns the number of calls of these tenants in the ledger. @throws Error if the ledger contains calls without a cost */
async function meteredCalls(owners: Client[]): Promise<number> {
  let calls = 0;
  for (const owner of owners) {
    const { apiUsageSummary } = await owner.query<Usage>(usage);
    if (apiUsageSummary.costThisMonthUsd === 0) return 0;
    for (const { count } of apiUsageSummary.breakdown) calls += count;
  }
  return calls;
}

import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from '@parley/stories/client';
import { createAgent } from '@parley/stories/conversation';
import { modelFirstChunkMs, openConversation, openTalker, withoutSocket } from './client.ts';
import { countsOf, cpuOf, type Reading, type Root, tickMs } from './costs.ts';
import { atOnce, type Figure, figure, medianOf, oneByOne, quantile, type Unit } from './figures.ts';
import { startLangGraph } from './langgraph.ts';
import { type BenchOptions, type StartedMesh, startChild } from './processes.ts';

export const content = 'How long does it take until you begin to answer?';

type Conversation = Pick<Awaited<ReturnType<typeof openConversation>>, 'firstChunkMs'> & AsyncDisposable;

/** A system that can reply to turns. */
interface System {
  name: string;
  open(): Promise<Conversation>;
  cpu(): Reading;
  counts?(): Promise<Reading>;
  /** Minimum number of turns in a round. Default: the turns of one conversation. */
  minTurns?: number;
  /** Maximum number of concurrent conversations when this system is measured. Default: no limit. */
  maxAtOnce?: number;
}

/** The environment of the measured mesh. */
interface TurnOptions extends BenchOptions {
  databaseUrl: string;
  /** The processes of the mesh's servers, PostgreSQL first. Default: none. */
  servers?: Root[];
  /** The maximum CPU time per turn of the mesh, as a multiple of the CPU time of LangGraph's Agent Server. */
  overLangGraph: number;
}

/** Number of measured turns in a conversation. */
const length = 10;

/** Number of turns before the measured ones in a long conversation, because the cost of a turn may grow with its history. */
const before = 40;

/** Number of turns after which V8 has compiled most of the code that a turn runs. */
const warmUp = 1_500;

/**
 * Measures the cost of a turn: CPU time, database, gRPC and memory. Compares it with two other systems: the same network hops without
 * Parley's work, and LangGraph's Agent Server. The systems are measured one after the other with the same model server, in new
 * conversations. A client sends its next message as soon as a reply has ended.
 */
export async function turnFigures(mesh: StartedMesh, options: TurnOptions): Promise<Figure[]> {
  const { rounds, short, say, databaseUrl, servers = [], overLangGraph } = options;
  const { modelUrl } = mesh;
  const roots = [{ name: servers.length > 0 ? 'supervisor' : 'Parley', pid: mesh.pid }, ...servers];
  await using parts = new AsyncDisposableStack();
  const own: System = {
    name: 'Parley',
    open: await opener(mesh.urls),
    cpu: () => cpuOf(roots),
    counts: () => countsOf(mesh, databaseUrl),
    minTurns: 40,
  };
  const skeleton = await startSkeleton(modelUrl, servers.length > 0 ? databaseUrl : '', servers.slice(0, 1), parts);
  const langGraph = short ? undefined : await startLangGraph(modelUrl, mesh.temporary, options);
  if (langGraph) parts.use(langGraph);
  const direct: System = {
    name: 'the model',
    open: async () => withoutSocket((text) => modelFirstChunkMs(modelUrl, text)),
    cpu: () => ({}),
  };

  /**
   * Measures `count` concurrent new conversations. Repeats this until the system's minimum number of turns is reached.
   * @param earlier the number of unmeasured turns at the start of each conversation
   */
  async function period(system: System, count: number, earlier = 0) {
    const turns = short ? 1 : length;
    const minTimes = short ? 0 : (system.minTurns ?? 0);
    const rest = () => delay(short ? 20 : 300); // waits, so that the cost of a turn includes work after its reply
    const times: number[] = [];
    const used: Reading = {};
    let seconds = 0;
    do {
      await using conversations = new AsyncDisposableStack();
      const opened = await oneByOne(count, async () => conversations.use(await system.open()));
      const talk = (each: number) =>
        atOnce(count, (index) => oneByOne(each, async () => opened[index]?.firstChunkMs(content) ?? Number.NaN));
      await talk(earlier);
      await rest();
      const counts = await system.counts?.();
      const cpu = system.cpu();
      const begunAt = performance.now();
      const ofEach = await talk(turns);
      seconds += (performance.now() - begunAt) / 1_000;
      await rest();
      add(used, system.cpu(), cpu);
      if (counts) add(used, (await system.counts?.()) ?? {}, counts);
      times.push(...ofEach.flat());
    } while (times.length < minTimes);
    const perTurn = Object.entries(used).map(([name, value]) => [name, value / times.length]);
    return {
      turns: times.length,
      p50: quantile(times, 0.5),
      rate: times.length / seconds,
      used: Object.fromEntries(perTurn) as Reading,
    };
  }

  type Period = Awaited<ReturnType<typeof period>>;

  if (!short) {
    say('what a turn costs, warm-up');
    for (const system of [own, skeleton]) await period({ ...system, minTurns: warmUp }, 16);
  }
  const figures: Figure[] = [];
  const cases = short
    ? [
        { count: 1, earlier: 0 },
        { count: 4, earlier: 1 },
      ]
    : [
        { count: 1, earlier: 0 },
        { count: 16, earlier: 0 },
        { count: 16, earlier: before },
        { count: 50, earlier: 0 },
      ];
  for (const { count, earlier } of cases) {
    const title = `turn, ${count} at once${earlier ? `, after ${earlier}` : ''}`;
    say(`${title}: what it costs, ${rounds} rounds`);
    const others = [skeleton, ...(langGraph ? [langGraph] : [])].filter(
      ({ maxAtOnce = count }: System) => count <= maxAtOnce,
    );
    const measure = (system: System) => period(system, count, earlier);
    const round = async () => {
      const model = await period(direct, count);
      const ours = await measure(own);
      return { model, ours, others: await oneByOne(others.length, (index) => measure(others[index] as System)) };
    };
    await round(); // another warm-up
    const measured = await oneByOne(rounds, round);
    type Round = (typeof measured)[number];
    const show = (name: string, unit: Unit, pick: (each: Round) => number, bound = {}) =>
      void figures.push(figure(`${title}: ${name}`, medianOf(measured, pick), unit, bound));

    show('rate', '/s', ({ ours }) => ours.rate);
    show("first chunk over the model's own, p50", 'ms', ({ ours, model }) => ours.p50 - model.p50);
    // Iterates over the threads of all rounds, because some threads exist only in some rounds.
    for (const name of new Set(measured.flatMap(({ ours }) => Object.keys(ours.used)))) {
      show(name, unitOf(name), ({ ours }) => ours.used[name] ?? 0);
    }
    for (const [index, other] of others.entries()) {
      const at = (each: Round) => each.others[index] as Period;
      const bound = other === langGraph && count === other.maxAtOnce ? { goal: overLangGraph } : {};
      // The kernel counts CPU time in ticks. It may count no tick in a short period, so at least one tick is assumed.
      const cpuMs = ({ used, turns }: Period) => Math.max(used.CPU ?? 0, tickMs / turns);
      show(`rate of ${other.name}`, '/s', (each) => at(each).rate);
      show(`first chunk of ${other.name} over the model's own, p50`, 'ms', (each) => at(each).p50 - each.model.p50);
      show(`CPU of ${other.name}`, 'ms', (each) => cpuMs(at(each)));
      show(`CPU over that of ${other.name}`, '×', (each) => cpuMs(each.ours) / cpuMs(at(each)), bound);
    }
  }
  return figures;
}

/** Opens conversations of one person. @param urls endpoints of one mesh, used round robin */
export async function opener(urls: string[]) {
  const person = new Client(urls[0] ?? '');
  await person.register();
  const agentId = await createAgent(person);
  let opened = 0;
  return () => openTalker(person.at(urls[opened++ % urls.length] ?? ''), agentId);
}

function add(sum: Reading, after: Reading, before: Reading): void {
  for (const [name, value] of Object.entries(after)) sum[name] = (sum[name] ?? 0) + value - (before[name] ?? 0);
}

function unitOf(name: string): Unit {
  if (/^CPU|^pauses/u.test(name)) return 'ms';
  return /^allocated|^written/u.test(name) ? 'KB' : '/turn';
}

/**
 * Starts the skeleton in as many processes as the mesh: three with a database, otherwise one. @param roots the process of the database,
 * which is counted too
 */
async function startSkeleton(modelUrl: string, databaseUrl: string, roots: Root[], parts: AsyncDisposableStack) {
  const pids: Root[] = [...roots];
  async function start(HOPS: string, NEXT_HOP = '') {
    const env = { MODEL_URL: modelUrl, DATABASE_URL: databaseUrl, HOPS, NEXT_HOP };
    const { hello, pid } = parts.use(await startChild('skeleton.ts', env));
    pids.push({ name: 'skeleton', pid });
    return hello;
  }
  const url = databaseUrl
    ? await start('gateway', await start('session', await start('agent')))
    : await start('agent,session,gateway');
  const system: System = {
    name: 'the bare hops',
    open: () => openConversation(url, '', randomInt(2 ** 40)),
    cpu: () => cpuOf(pids),
    minTurns: 400,
  };
  return system;
}

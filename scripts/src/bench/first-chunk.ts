import { enter } from '../talk/account.ts';
import { type Api, publicApi } from '../talk/api.ts';
import type { Figure } from './figure.ts';
import { modelFirstChunkMs } from './model-client.ts';
import { median, quantile } from './statistics.ts';
import { openTalker, type Talker } from './talker.ts';

const text = 'How long does it take until you begin to answer?';
const oneAtOnce = { messages: 100, warmUp: 60 };
const manyAtOnce = { talkers: 50, waves: 4, warmUp: 4 };

/** How much later than the model's own the first chunk of a reply comes: one conversation at a time, and fifty. */
export async function firstChunkFigures(url: string, modelUrl: string, rounds: number): Promise<Figure[]> {
  const api = publicApi(url);
  await enter(api, {});
  const agentId = await makeAgent(api);
  const talkers: Talker[] = [];
  for (let count = 0; count < manyAtOnce.talkers; count += 1) talkers.push(await openTalker(api, agentId));
  const direct = () => modelFirstChunkMs(modelUrl, text);

  const one = await added(rounds, {
    direct: () => inTurn(direct, oneAtOnce.messages),
    mesh: (warmUp) =>
      inTurn((index) => talkerOf(index).firstChunkMs(text), warmUp ? oneAtOnce.warmUp : oneAtOnce.messages),
  });
  const many = await added(rounds, {
    direct: () => inWaves(direct, manyAtOnce.waves),
    mesh: (warmUp) =>
      inWaves((index) => talkerOf(index).firstChunkMs(text), warmUp ? manyAtOnce.warmUp : manyAtOnce.waves),
  });
  await Promise.all(talkers.map((talker) => talker.close()));
  return [
    { name: "first chunk over the model's own, 1 at once, p50", value: one.p50, unit: 'ms', goal: 6 },
    { name: "first chunk over the model's own, 1 at once, p99", value: one.p99, unit: 'ms', goal: 15 },
    { name: "first chunk over the model's own, 50 at once, p50", value: many.p50, unit: 'ms', goal: 40 },
    { name: "first chunk over the model's own, 50 at once, p99", value: many.p99, unit: 'ms' },
  ];

  function talkerOf(index: number): Talker {
    const talker = talkers[index % talkers.length];
    if (!talker) throw new Error('There is nobody to talk');
    return talker;
  }
}

interface Paths {
  direct: () => Promise<number[]>;
  mesh: (warmUp: boolean) => Promise<number[]>;
}

/** The median round's difference between the quantiles of both paths, which are taken in turn. */
async function added(rounds: number, { direct, mesh }: Paths): Promise<{ p50: number; p99: number }> {
  await direct();
  await mesh(true);
  const p50: number[] = [];
  const p99: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const [own, whole] = [await direct(), await mesh(false)];
    p50.push(quantile(whole, 0.5) - quantile(own, 0.5));
    p99.push(quantile(whole, 0.99) - quantile(own, 0.99));
  }
  return { p50: median(p50), p99: median(p99) };
}

async function inTurn(measure: (index: number) => Promise<number>, count: number): Promise<number[]> {
  const values: number[] = [];
  for (let index = 0; index < count; index += 1) values.push(await measure(index));
  return values;
}

async function inWaves(measure: (index: number) => Promise<number>, waves: number): Promise<number[]> {
  const values: number[] = [];
  for (let wave = 0; wave < waves; wave += 1) {
    values.push(...(await Promise.all(Array.from({ length: manyAtOnce.talkers }, (_, index) => measure(index)))));
  }
  return values;
}

async function makeAgent(api: Api): Promise<number> {
  const create = 'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { id } }';
  const input = { name: 'Bench', position: 'Bench', subject: 'time', useCase: 'ONBOARDING', personaPrompt: 'Answer.' };
  return (await api.call<{ createAgent: { id: number } }>(create, { input })).createAgent.id;
}

import { enter } from '@parley/scripts/talk/account';
import { type Api, publicApi } from '@parley/scripts/talk/api';
import type { Figure } from './figure.ts';
import { modelFirstChunkMs } from './model-client.ts';
import { median, quantile } from './statistics.ts';
import { openTalker, type Talker } from './talker.ts';

const text = 'How long does it take until you begin to answer?';
const oneAtOnce = { messages: 100, warmUp: 60 };
const manyAtOnce = { talkers: 50, waves: 4, warmUp: 4 };
const few = { oneAtOnce: { messages: 3, warmUp: 1 }, manyAtOnce: { talkers: 4, waves: 1, warmUp: 1 } };

export interface FirstChunkOptions {
  /** GraphQL endpoints of one mesh; conversations go round them. */
  urls: string[];
  modelUrl: string;
  rounds: number;
  /** Put before the name of each figure. */
  prefix?: string;
  /** A few messages only. */
  short?: boolean;
}

/** How much later than the model's own the first chunk of a reply comes: one conversation at a time, and fifty. */
export async function firstChunkFigures({
  urls,
  modelUrl,
  rounds,
  prefix = '',
  short = false,
}: FirstChunkOptions): Promise<Figure[]> {
  const [one, many] = short ? [few.oneAtOnce, few.manyAtOnce] : [oneAtOnce, manyAtOnce];
  const [api, ...others] = urls.map((url) => publicApi(url));
  if (!api) throw new Error('There is nobody to talk to');
  await enter(api, {});
  for (const other of others) await signInAs(api, other);
  const agentId = await makeAgent(api);
  const talkers: Talker[] = [];
  for (let count = 0; count < many.talkers; count += 1) {
    talkers.push(await openTalker([api, ...others][count % urls.length] ?? api, agentId));
  }
  const direct = () => modelFirstChunkMs(modelUrl, text);

  const alone = await added(rounds, {
    direct: () => inTurn(direct, one.messages),
    mesh: (warmUp) => inTurn((index) => talkerOf(index).firstChunkMs(text), warmUp ? one.warmUp : one.messages),
  });
  const together = await added(rounds, {
    direct: () => inWaves(direct, many.talkers, many.waves),
    mesh: (warmUp) =>
      inWaves((index) => talkerOf(index).firstChunkMs(text), many.talkers, warmUp ? many.warmUp : many.waves),
  });
  await Promise.all(talkers.map((talker) => talker.close()));
  const name = `${prefix}first chunk over the model's own`;
  return [
    { name: `${name}, 1 at once, p50`, value: alone.p50, unit: 'ms', goal: 6 },
    { name: `${name}, 1 at once, p99`, value: alone.p99, unit: 'ms', goal: 15 },
    { name: `${name}, ${many.talkers} at once, p50`, value: together.p50, unit: 'ms', goal: 40 },
    { name: `${name}, ${many.talkers} at once, p99`, value: together.p99, unit: 'ms' },
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

async function inWaves(measure: (index: number) => Promise<number>, atOnce: number, waves: number): Promise<number[]> {
  const values: number[] = [];
  for (let wave = 0; wave < waves; wave += 1) {
    values.push(...(await Promise.all(Array.from({ length: atOnce }, (_, index) => measure(index)))));
  }
  return values;
}

/** The same person at another gateway. */
export async function signInAs(person: Api, other: Api): Promise<void> {
  other.signIn({ accessToken: await accessTokenOf(person), refreshToken: '' });
}

export async function accessTokenOf(person: Api): Promise<string> {
  const { authorization = '' } = await person.connectionParams();
  return authorization.replace('Bearer ', '');
}

export async function makeAgent(api: Api): Promise<number> {
  const create = 'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { id } }';
  const input = { name: 'Bench', position: 'Bench', subject: 'time', useCase: 'ONBOARDING', personaPrompt: 'Answer.' };
  return (await api.call<{ createAgent: { id: number } }>(create, { input })).createAgent.id;
}

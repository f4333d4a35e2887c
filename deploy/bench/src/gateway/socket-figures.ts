import { setTimeout as delay } from 'node:timers/promises';
import type { BenchOptions } from '../bench.ts';
import type { Figure } from '../figure.ts';
import { median } from '../statistics.ts';
import type { Child } from './child.ts';
import type { Reached } from './our-gateway.ts';
import { openReaders } from './readers.ts';

const fanOut = { readers: 50, events: 100, waves: 10, warmUp: 3 };
const littleFanOut: typeof fanOut = { readers: 5, events: 100, waves: 2, warmUp: 1 };
/** Long enough for streams to open behind the sockets. */
const settleMs = 1_000;

interface Sides {
  ours: Child<Reached>;
  bare: Child<Reached>;
  /** Where events of our gateway come from; the bare server makes its own. */
  source: Child<unknown>;
  token: string;
}

/** What an open socket takes of the gateway's memory, with nothing on it and with one subscription. */
export async function idleSocketFigures(
  { ours, token }: Pick<Sides, 'ours' | 'token'>,
  short: boolean,
): Promise<Figure[]> {
  const idle = short ? 50 : 1_000;
  const open = (count: number, subscribe: boolean) => openReaders({ url: ours.hello.url, count, token, subscribe });
  const [some, one] = [await open(25, false), await open(1, true)]; // what the first bring in for good is no socket's own
  const before = await settled(ours);
  const readers = await open(idle, false);
  const between = await settled(ours);
  const subscribers = await open(idle, true);
  const after = await settled(ours);
  await Promise.all([some, one, readers, subscribers].map((opened) => opened.close()));
  return [
    {
      name: `memory of an idle socket, of ${idle}`,
      value: (between - before) / idle,
      unit: 'KB',
      goal: 60,
    },
    { name: 'memory of one with a subscription', value: (after - between) / idle, unit: 'KB' },
  ];
}

async function settled(server: Child<Reached>): Promise<number> {
  await delay(settleMs);
  return server.memoryKb();
}

/** Chunks delivered to readers per second of the server's CPU, beside a bare graphql-ws server, in turn. */
export async function fanOutFigures(
  { ours, bare, source, token }: Sides,
  { rounds, short = false }: Pick<BenchOptions, 'rounds' | 'short'>,
): Promise<Figure[]> {
  const { readers: count, events, waves: wavesOfRound, warmUp } = short ? littleFanOut : fanOut;
  const own = await openReaders({ url: ours.hello.url, count, token, subscribe: true });
  const other = await openReaders({ url: bare.hello.url, count, token, subscribe: true });
  await delay(settleMs);

  const measure = async (server: Child<Reached>, from: Child<unknown>, readers: typeof own, waves: number) => {
    const before = await server.cpuMs();
    for (let wave = 0; wave < waves; wave += 1) {
      const all = readers.received(count * events);
      from.emit(events);
      await all;
    }
    const after = await server.cpuMs();
    return (waves * count * events) / ((after - before) / 1_000);
  };
  await measure(ours, source, own, warmUp);
  await measure(bare, bare, other, warmUp);
  const rates: { own: number; other: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    rates.push({
      own: await measure(ours, source, own, wavesOfRound),
      other: await measure(bare, bare, other, wavesOfRound),
    });
  }
  await Promise.all([own.close(), other.close()]);
  return [
    {
      name: 'CPU of the gateway for 1,000 chunks delivered',
      value: 1_000_000 / median(rates.map((rate) => rate.own)),
      unit: 'ms',
    },
    {
      name: 'chunks per CPU-second over a bare graphql-ws server',
      value: median(rates.map((rate) => rate.own / rate.other)),
      unit: '×',
      atLeast: 0.9,
    },
  ];
}

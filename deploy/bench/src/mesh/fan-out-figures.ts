import { setTimeout as delay } from 'node:timers/promises';
import type { ModelServer } from '@parley/chassis/testing/model-server';
import type { Figure } from '../figure.ts';
import { startChild } from '../gateway/child.ts';
import type { Reached } from '../gateway/our-gateway.ts';
import { openReaders } from '../gateway/readers.ts';
import { median } from '../statistics.ts';
import type { Talker } from '../talker.ts';
import { cpuMs } from './processes.ts';

const readers = 50;
/** Long enough for streams to open behind the sockets, and for the last frames to arrive. */
const settleMs = 1_000;

export interface FanOutOptions {
  gateway: { url: string; pid: number };
  model: ModelServer;
  /** Of the session that is read, at another gateway: what is measured is who delivers. */
  talker: Talker;
  sessionId: number;
  token: string;
  rounds: number;
  short: boolean;
}

/** Events of replies delivered to readers per second of one gateway's CPU, beside a bare graphql-ws server, in turn. */
export async function fanOutFigures(options: FanOutOptions): Promise<Figure[]> {
  const { gateway, model, talker, sessionId, token, rounds, short } = options;
  const { chunks, waves } = short ? { chunks: 30, waves: 2 } : { chunks: 100, waves: 8 };
  // At the pace of a model: what comes together becomes one event.
  model.answerWith({ text: Array.from({ length: chunks }, (_, n) => `some more words, ${n} `), deltaDelayMs: 5 });
  const bare = await startChild<Reached>('bare-sockets.ts');
  const own = await openReaders({ url: gateway.url, count: readers, token, subscribe: true, sessionId });
  const other = await openReaders({ url: bare.hello.url, count: readers, token, subscribe: true });
  await delay(settleMs);

  /** Whole turns; answers events delivered per second of CPU. */
  async function ofOurs(): Promise<number> {
    const [cpu, events] = [cpuMs(gateway.pid), own.count()];
    for (let wave = 0; wave < waves; wave += 1) await talker.firstChunkMs('Tell me more.');
    await delay(settleMs);
    return (own.count() - events) / ((cpuMs(gateway.pid) - cpu) / 1_000);
  }
  /** One event after the other, as the chunks of a reply come. */
  async function ofBare(): Promise<number> {
    const cpu = await bare.cpuMs();
    for (let event = 0; event < waves * chunks; event += 1) {
      const all = other.received(readers);
      bare.emit(1);
      await all;
    }
    return (waves * readers * chunks) / (((await bare.cpuMs()) - cpu) / 1_000);
  }

  try {
    await ofOurs();
    await ofBare();
    const rates: { own: number; bare: number }[] = [];
    for (let round = 0; round < rounds; round += 1) rates.push({ own: await ofOurs(), bare: await ofBare() });
    return [
      {
        name: 'mesh: CPU of a gateway for 1,000 events delivered',
        value: 1_000_000 / median(rates.map((rate) => rate.own)),
        unit: 'ms',
      },
      {
        name: 'mesh: events per CPU-second over a bare graphql-ws server',
        value: median(rates.map((rate) => rate.own / rate.bare)),
        unit: '×',
        atLeast: 0.9,
      },
    ];
  } finally {
    await Promise.all([own.close(), other.close()]);
    await bare.stop();
  }
}

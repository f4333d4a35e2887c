import type { BenchOptions } from '../bench.ts';
import type { Figure } from '../figure.ts';
import { startChild } from './child.ts';
import { federatedFigures } from './federated.ts';
import type { Reached } from './our-gateway.ts';
import { fanOutFigures, idleSocketFigures } from './socket-figures.ts';
import type { StandIns } from './stand-ins.ts';
import { throttleFigures } from './throttle-figures.ts';

/** The gateway alone, in front of services that answer at once, beside what it is made of. Each in a process of its own. */
export async function gatewayFigures({ rounds, short = false, say }: BenchOptions): Promise<Figure[]> {
  const standIns = await startChild<StandIns>('stand-ins.ts');
  const { env, token } = standIns.hello;
  const ours = await startChild<Reached>('our-gateway.ts', env);
  const bare = await startChild<Reached>('bare-gateway.ts', env);
  const bareSockets = await startChild<Reached>('bare-sockets.ts');
  try {
    say(`query of two subgraphs, ${rounds} rounds`);
    const federated = await federatedFigures({ ours, bare, token }, { rounds, short });
    say('throttle');
    const throttle = await throttleFigures(process.env.REDIS_URL || undefined);
    say('idle sockets');
    // One that nothing else has grown before.
    const fresh = await startChild<Reached>('our-gateway.ts', env);
    const idle = await idleSocketFigures({ ours: fresh, token }, short).finally(() => fresh.stop());
    say(`chunks to many readers, ${rounds} rounds`);
    const chunks = await fanOutFigures({ ours, bare: bareSockets, source: standIns, token }, { rounds, short });
    return [...federated, ...throttle, ...idle, ...chunks];
  } finally {
    await Promise.all([ours, bare, bareSockets].map((child) => child.stop()));
    await standIns.stop();
  }
}

import { once } from 'node:events';
import { type Figure, figure, quantile } from '../figures.ts';
import { startChild } from '../processes.ts';
import type { Probing } from './flood.ts';

/** What the client outside the flood measured: durations in ms, and the number of failed operations. */
export interface Probed {
  times: Record<string, number[]>;
  failed: Record<string, number>;
}

/** The prefix of the probe's figures. */
export const stranger = "a stranger's";

/** Starts a client of a tenant outside the flood, in its own process. */
export async function startProbe(url: string, probes: readonly Probing[]) {
  const child = await startChild('probe.ts', { PROBE_URL: url, PROBE_WHAT: probes.join(',') });
  return {
    /** Starts probing. */
    begin: () => void child.child.send('begin'),
    /** Stops probing. Resolves when all operations of the probe have ended. */
    async end(): Promise<Probed> {
      child.child.send('end');
      const [probed] = (await once(child.child, 'message')) as [Probed];
      return probed;
    },
    [Symbol.asyncDispose]: child.stop,
  };
}

/** Compares durations during a flood with durations without a flood. The duration of a failed operation counts as infinite. */
export function probeFigures(alone: Probed, beside: Probed): Figure[] {
  return Object.keys(beside.times).flatMap((name) => {
    const quiet = alone.times[name] ?? [];
    const flooded = beside.times[name] ?? [];
    const failed = beside.failed[name] ?? 0;
    const p99 = quantile(flooded, 0.99);
    return [
      figure(`${stranger} ${name} without it, p50`, quantile(quiet, 0.5), 'ms'),
      figure(`${stranger} ${name} without it, p99`, quantile(quiet, 0.99), 'ms'),
      figure(`${stranger} ${name}, p50`, quantile(flooded, 0.5), 'ms'),
      figure(`${stranger} ${name}, p99`, p99, 'ms'),
      figure(`${stranger} ${name}, slowest`, Math.max(...flooded), 'ms'),
      figure(`${stranger} ${name}, p50, over without it`, quantile(flooded, 0.5) / quantile(quiet, 0.5), '×'),
      figure(`${stranger} ${name}, of ${flooded.length + failed} failed`, failed, 'in all', { goal: 0 }),
    ];
  });
}

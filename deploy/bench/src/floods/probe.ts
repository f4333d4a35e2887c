import { once } from 'node:events';
import { type Figure, figure, quantile } from '../figures.ts';
import { startChild } from '../processes.ts';
import type { Probing } from './flood.ts';

/** What a stranger measured: durations in ms, and how many of its operations failed. */
export interface Probed {
  times: Record<string, number[]>;
  failed: Record<string, number>;
}

/** How the names of its durations begin in figures. */
export const stranger = "a stranger's";

/** A tenant that is not part of a flood, in a process of its own. */
export async function startProbe(url: string, probes: readonly Probing[]) {
  const child = await startChild('probe.ts', { PROBE_URL: url, PROBE_WHAT: probes.join(',') });
  return {
    /** Probes from now on. */
    begin: () => void child.child.send('begin'),
    /** Ends the probing. Resolves once all its operations have an answer. */
    async end(): Promise<Probed> {
      child.child.send('end');
      const [probed] = (await once(child.child, 'message')) as [Probed];
      return probed;
    },
    [Symbol.asyncDispose]: child.stop,
  };
}

/** The durations beside a flood and without one. A failed operation counts as infinitely long. */
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

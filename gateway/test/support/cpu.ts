/** How much of the CPU answering one hostile request may take, as a multiple of the yardstick: some 50 ms on a machine of 2020. */
export const maxCpuRatio = 40;

const yardstick = JSON.stringify(Array.from({ length: 20_000 }, (_, i) => ({ a: i })));

/** The CPU of this process while something runs, in ms. */
async function cpuOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/**
 * The CPU of this process, client included, while `work` runs with what `prepare` made, as a multiple of what reading a JSON of
 * 20,000 objects takes at the same time: its least of several times, since what else the process does counts too. It ends early
 * below `enough`.
 */
export async function cpuRatioOf<T>(
  prepare: () => T,
  work: (prepared: T) => Promise<unknown>,
  { times = 5, enough = 0 } = {},
): Promise<number> {
  const yardsticks: number[] = [];
  let least = Number.POSITIVE_INFINITY;
  let ratio = Number.POSITIVE_INFINITY;
  for (let i = 0; i < times && ratio >= enough; i++) {
    const prepared = prepare();
    yardsticks.push(await cpuOf(() => JSON.parse(yardstick)));
    least = Math.min(least, await cpuOf(() => work(prepared)));
    ratio = least / median(yardsticks);
  }
  return ratio;
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}

/**
 * The CPU limit of one hostile request, in yardsticks. This many yardsticks take about 50 to 75 ms. The costliest requests need 25 to 40
 * yardsticks, depending on how fast a processor parses JSON relative to its other work.
 */
export const maxCpuRatio = 60;

const yardstick = JSON.stringify(Array.from({ length: 20_000 }, (_, i) => ({ a: i })));

/** Returns the CPU time in ms that this process spends on `work`. */
async function cpuOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/**
 * Returns the CPU time of `work` with the result of `prepare`, client included, in yardsticks. A yardstick is the CPU time to parse a JSON
 * array of 20,000 objects. The result is the median of several runs, each with its own yardstick, because the fastest run or a run with
 * garbage collection is not typical. Makes fewer than `again` runs if the median is certainly below `enough`.
 */
export async function cpuRatioOf<T>(
  prepare: () => T,
  work: (prepared: T) => Promise<unknown>,
  { times = 3, again = 9, enough = 0 } = {},
): Promise<number> {
  const ratios: number[] = [];
  const isBelow = (of: number) => ratios.filter((ratio) => ratio < enough).length > of / 2;
  while (ratios.length < again && !(isBelow(times) && isBelow(ratios.length))) {
    const prepared = prepare();
    const unit = await cpuOf(() => JSON.parse(yardstick));
    ratios.push((await cpuOf(() => work(prepared))) / unit);
  }
  return ratios.toSorted((a, b) => a - b)[ratios.length >> 1] ?? 0;
}

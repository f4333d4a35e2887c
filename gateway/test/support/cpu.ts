/**
 * The CPU limit of one hostile request as a multiple of the yardstick: some 50 to 75 ms. The costliest take 25 to 40, depending on how
 * quickly a processor parses JSON beside all else.
 */
export const maxCpuRatio = 60;

const yardstick = JSON.stringify(Array.from({ length: 20_000 }, (_, i) => ({ a: i })));

/** CPU time of this process in ms. */
async function cpuOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/**
 * CPU time of `work` with the result of `prepare`, client included, as a multiple of parsing a JSON of 20,000 objects.
 * The median of several runs, each with its own yardstick, because the fastest run or one with garbage collection is
 * not typical. Stops early when the median is certainly below `enough`; otherwise takes the median of all `again` runs.
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

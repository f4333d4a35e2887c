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
 * 20,000 objects takes at the same time: the median of so many runs, each with a yardstick of its own beside it, since neither
 * the quickest of them nor one that the collector fell into is what a request costs. It ends as soon as it is certain that the
 * median is below `enough`; one that is not is looked at closer, as the median of all of `again` runs.
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

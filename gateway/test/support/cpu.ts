/** What answering one hostile request may take of the CPU, in ms. */
export const maxCpuMs = 50;

/**
 * The CPU of this process, client included, while something runs: its least of several times, in ms, since what else the
 * process does counts too. It ends early below `enoughMs`.
 */
export async function cpuOf(work: () => Promise<unknown>, { times = 5, enoughMs = 0 } = {}): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < times && !(least < enoughMs); i++) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}

/**
 * Starts all pieces of work at once and yields each with its result, in order of completion. If the iteration ends
 * early, the signal aborts the remaining work.
 */
export async function* sideBySide<Work, Result>(
  works: readonly Work[],
  begin: (work: Work, signal: AbortSignal) => Promise<Result>,
  signal: AbortSignal,
): AsyncGenerator<[Work, Result]> {
  const stop = new AbortController();
  const eitherSignal = AbortSignal.any([signal, stop.signal]);
  const running = new Map<number, Promise<[number, Result]>>();
  try {
    for (const [at, work] of works.entries()) {
      const ending = begin(work, eitherSignal).then((result): [number, Result] => [at, result]);
      ending.catch(() => undefined); // an abort rejects several promises, and only one of them is awaited
      running.set(at, ending);
    }
    while (running.size > 0) {
      const [at, result] = await Promise.race(running.values());
      running.delete(at);
      yield [works[at] as Work, result];
    }
  } finally {
    stop.abort();
  }
}

import { createContext, Script } from 'node:vm';

const context = createContext({ work: undefined });
const call = new Script('work()');

/** The share of its time that work may have had and still begin anew. */
const mostRun = 0.8;

export interface ProcessorTimeOptions {
  /**
   * A busy machine may stop this thread for longer than the work takes; then the work begins anew, once, with as much more time as the
   * machine has kept from it, at most so many times. During that the thread does nothing else. 0: never. Default 20.
   */
  patience?: number;
}

/**
 * Runs synchronous work and ends it when it has taken about `ms` of processor time, endless loops too; where it begins anew, up to twice
 * that, and more only if the machine becomes free meanwhile. It starts a thread that watches the time, which costs 0.1 ms.
 * @returns undefined where it has been ended
 */
export function withinProcessorTime<Result extends object>(
  ms: number,
  work: () => Result,
  { patience = 20 }: ProcessorTimeOptions = {},
): Result | undefined {
  const startedAt = processorMs();
  const result = within(ms, work);
  if (result || patience === 0) return result;
  const ran = (processorMs() - startedAt) / ms;
  // What has had nearly all of its time is not stopped by others.
  return ran < mostRun ? within(Math.ceil(ms * Math.min(patience, 1 / ran)), work) : undefined;
}

function within<Result extends object>(timeout: number, work: () => Result): Result | undefined {
  context['work'] = work;
  try {
    return call.runInContext(context, { timeout }) as Result;
  } catch (error) {
    if (isTimeout(error)) return undefined;
    throw error;
  } finally {
    context['work'] = undefined;
  }
}

/** It is an error of the context's own class. */
function isTimeout(error: unknown): boolean {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
}

/** Processor time that this thread has taken. */
export function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

import { createContext, Script } from 'node:vm';

const context = createContext({ work: undefined });
const call = new Script('work()');

/** Work is restarted only if its own processor time was less than this share of the limit. */
const maxRunShare = 0.8;

export interface ProcessorTimeOptions {
  /**
   * A busy machine may suspend this thread for longer than the work takes. The work is then restarted once, with a higher limit that makes
   * up for the lost time. This option is the maximum factor by which the limit is raised; 0: never restarted. The thread is blocked
   * meanwhile. Default 20.
   */
  patience?: number;
}

/**
 * Runs synchronous work and terminates it, even in an endless loop, after about `ms` of processor time. Restarted work may take up to twice
 * this time, or more if the machine becomes idle meanwhile. Starting the watchdog thread costs 0.1 ms.
 * @returns undefined if the work was terminated
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
  // Work that used nearly all of its time was itself slow; the thread was not suspended.
  return ran < maxRunShare ? within(Math.ceil(ms * Math.min(patience, 1 / ran)), work) : undefined;
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

/** Compares the error's code, because the error is an instance of another context's class. */
function isTimeout(error: unknown): boolean {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
}

/** Returns the processor time of this thread so far. */
export function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

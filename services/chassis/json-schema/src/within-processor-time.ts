import { createContext, Script } from 'node:vm';

const context = createContext({ work: undefined });
const call = new Script('work()');

export interface ProcessorTimeOptions {
  /**
   * A busy machine may stop this thread for longer than the work takes; then the work gets so many times its time, once, during which the
   * thread does nothing else. 0: never. Default 20.
   */
  patience?: number;
}

/**
 * Runs synchronous work and ends it when it has taken about `ms` of processor time, endless loops too. It starts a thread that
 * watches the time, which costs 0.1 ms.
 * @returns undefined where it has been ended
 */
export function withinProcessorTime<Result extends object>(
  ms: number,
  work: () => Result,
  { patience = 20 }: ProcessorTimeOptions = {},
): Result | undefined {
  const startedAt = processorMs();
  const result = within(ms, work);
  const hasRun = processorMs() - startedAt;
  if (patience === 0) return result;
  return result ?? (hasRun < ms / 2 ? within(ms * patience, work) : undefined);
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

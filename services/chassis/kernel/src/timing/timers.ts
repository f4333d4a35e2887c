import { setTimeout as delay } from 'node:timers/promises';

/**
 * Resolves after `ms`, or as soon as `signal` aborts.
 * @param ref false: the timer does not keep the process alive
 */
export function sleep(ms: number, signal: AbortSignal, { ref = true } = {}): Promise<void> {
  return delay(ms, undefined, { signal, ref }).catch(() => undefined);
}

/**
 * Settles as `work` does, or rejects after `timeoutMs`; the work is not cancelled.
 * @param what the name of the work for the error message, or a function that makes the error.
 */
export async function within<T>(timeoutMs: number, what: string | (() => Error), work: PromiseLike<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const error = () => (typeof what === 'string' ? new Error(`${what} took longer than ${timeoutMs} ms`) : what());
  const timer = setTimeout(() => late.reject(error()), timeoutMs);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

import { tooSlow } from './connector-errors.ts';

export interface CallLimits {
  /** Maximum time of the whole call, including its time in the queue. */
  timeoutMs: number;
  /** Maximum time without a response or a progress notification. */
  idleMs: number;
  signal?: AbortSignal | undefined;
}

/** Makes a signal that aborts with the caller's signal or when a time limit has passed. @throws the reason of an already aborted signal */
export function callDeadline({ timeoutMs, idleMs, signal: callerSignal }: CallLimits) {
  callerSignal?.throwIfAborted();
  const abort = new AbortController();
  const whole = setTimeout(() => abort.abort(tooSlow(timeoutMs)), timeoutMs);
  const idle = setTimeout(() => abort.abort(tooSlow(idleMs)), idleMs);
  const leave = () => abort.abort(callerSignal?.reason);
  callerSignal?.addEventListener('abort', leave);
  return {
    signal: abort.signal,
    /** Restarts the idle time. */
    progressed: () => void idle.refresh(),
    end() {
      clearTimeout(whole);
      clearTimeout(idle);
      callerSignal?.removeEventListener('abort', leave);
    },
  };
}

import { tooSlow } from './connector-errors.ts';

export interface CallLimits {
  /** The longest time of the whole call, its wait for a turn included. */
  timeoutMs: number;
  /** The longest wait for the answer, or for a notification of progress. */
  idleMs: number;
  signal?: AbortSignal | undefined;
}

/** Aborts when the caller does, or when the time is over. @throws the reason of a signal that is aborted already */
export function callDeadline({ timeoutMs, idleMs, signal: given }: CallLimits) {
  given?.throwIfAborted();
  const abort = new AbortController();
  const whole = setTimeout(() => abort.abort(tooSlow(timeoutMs)), timeoutMs);
  const idle = setTimeout(() => abort.abort(tooSlow(idleMs)), idleMs);
  const leave = () => abort.abort(given?.reason);
  given?.addEventListener('abort', leave);
  return {
    signal: abort.signal,
    /** Begins the idle time anew. */
    progressed: () => void idle.refresh(),
    end() {
      clearTimeout(whole);
      clearTimeout(idle);
      given?.removeEventListener('abort', leave);
    },
  };
}

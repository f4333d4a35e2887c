import { tooSlow } from './outbound-errors.ts';

export interface TimeLimits {
  /** Time limit of the whole call in ms, from DNS and redirects to the last byte. */
  timeoutMs: number;
  /** Maximum wait for the head of the response, and for each piece of its body. Default: limited only by `timeoutMs`. */
  idleMs?: number;
  signal?: AbortSignal | undefined;
}

export interface Deadline {
  /** Aborts with the reason of the given signal, or with `REMOTE_TOO_SLOW`. */
  signal: AbortSignal;
  /** Restarts the idle timeout. */
  received(): void;
  end(): void;
}

/** @throws the reason of a signal that has already been aborted */
export function deadline({ timeoutMs, idleMs = timeoutMs, signal: callerSignal }: TimeLimits): Deadline {
  callerSignal?.throwIfAborted();
  const abort = new AbortController();
  const whole = setTimeout(() => abort.abort(tooSlow(timeoutMs)), timeoutMs);
  const idle = idleMs < timeoutMs ? setTimeout(() => abort.abort(tooSlow(idleMs)), idleMs) : undefined;
  function leave(): void {
    end();
    abort.abort(callerSignal?.reason);
  }
  function end(): void {
    clearTimeout(whole);
    clearTimeout(idle);
    callerSignal?.removeEventListener('abort', leave);
  }
  callerSignal?.addEventListener('abort', leave);
  return { signal: abort.signal, received: () => void idle?.refresh(), end };
}

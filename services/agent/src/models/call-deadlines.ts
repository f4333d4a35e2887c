/** Time limits of one call, in milliseconds from its start. */
export interface CallLimits {
  /** Until the first token; default: `answerTimeoutMs`. */
  firstTokenTimeoutMs?: number;
  /** Until the end of the answer. */
  answerTimeoutMs: number;
}

/** Combines the caller's signal and the deadlines of a call into one signal for the provider's request. */
export function callDeadlines(caller: AbortSignal, { firstTokenTimeoutMs, answerTimeoutMs }: CallLimits) {
  const controller = new AbortController();
  let passed = false;
  const abortAfter = (timeoutMs: number) =>
    setTimeout(() => {
      passed = true;
      controller.abort(new DOMException('The deadline of the call has passed', 'AbortError'));
    }, timeoutMs).unref(); // an abandoned stream must not keep the process alive

  const cancel = () => controller.abort(caller.reason);
  if (caller.aborted) cancel();
  else caller.addEventListener('abort', cancel, { once: true });
  const firstToken = firstTokenTimeoutMs === undefined ? undefined : abortAfter(firstTokenTimeoutMs);
  const answer = abortAfter(answerTimeoutMs);

  return {
    signal: controller.signal,
    /** Whether the call was aborted by a deadline. */
    timedOut: () => passed,
    /** Ends the first-token deadline. */
    started: () => clearTimeout(firstToken),
    /** Releases timers and listeners. @param complete if false, cancels the request. */
    end(complete: boolean): void {
      clearTimeout(firstToken);
      clearTimeout(answer);
      caller.removeEventListener('abort', cancel);
      if (!complete) controller.abort();
    },
  };
}

/** How long one call may take, in milliseconds from its start. */
export interface CallLimits {
  /** To the first sign of an answer. Left out: the answer's own limit alone. */
  firstTokenTimeoutMs?: number;
  /** To the end of the answer, however it trickles. */
  answerTimeoutMs: number;
}

/** Joins the caller's signal and a call's deadlines into the one signal that the provider's request hangs on. */
export function callDeadlines(caller: AbortSignal, { firstTokenTimeoutMs, answerTimeoutMs }: CallLimits) {
  const controller = new AbortController();
  let passed = false;
  const cutAfter = (timeoutMs: number) =>
    setTimeout(() => {
      passed = true;
      controller.abort(new DOMException('The deadline of the call has passed', 'AbortError'));
    }, timeoutMs).unref(); // a stream that nobody reads on must not hold up the exit

  const cancel = () => controller.abort(caller.reason);
  if (caller.aborted) cancel();
  else caller.addEventListener('abort', cancel, { once: true });
  const firstToken = firstTokenTimeoutMs === undefined ? undefined : cutAfter(firstTokenTimeoutMs);
  const answer = cutAfter(answerTimeoutMs);

  return {
    signal: controller.signal,
    /** A deadline has passed, and that is what cut the call. */
    timedOut: () => passed,
    /** The answer has begun. */
    begun: () => clearTimeout(firstToken),
    /** The call is over; `complete` says whether the answer was read to its end, else the request is cancelled. */
    end(complete: boolean): void {
      clearTimeout(firstToken);
      clearTimeout(answer);
      caller.removeEventListener('abort', cancel);
      if (!complete) controller.abort();
    },
  };
}
